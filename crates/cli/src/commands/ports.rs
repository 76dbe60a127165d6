//! `qd ports`: lists the ports on which a process listens, and the web addresses that it has printed.

use std::process::ExitCode;

use clap::Args;
use proto::ports::{Listening, PortView};
use proto::request::{Ports, Target};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table};

/// List the ports on which a process and its children listen, and the web addresses it has printed
#[derive(Debug, Args)]
pub(crate) struct PortsArgs {
    /// Its name or id
    name: String,
}

impl PortsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let found = context.connect()?.ports(Ports { target: Target(self.name.clone()) })?;
        context.print(&found, |found, out| print_ports(&self.name, found, out))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print_ports(name: &str, found: &Listening, out: &mut Output) -> Result<(), CliError> {
    match found.ports.is_empty() {
        true => out.line(&format!("{name} listens on no port"))?,
        false => out.table(&table(&found.ports))?,
    }
    found.urls.iter().try_for_each(|url| out.line(&format!("shown: {url}")))
}

fn table(ports: &[PortView]) -> Table {
    let mut table = Table::new(&["PORT", "ADDRESS", "PID", "PROGRAM"]);
    for port in ports {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (port.port.to_string(), Style::Bold),
            plain(port.address.clone()),
            plain(port.pid.to_string()),
            plain(port.program.clone()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn a_program_cannot_draw_on_the_list() {
        let port = PortView { port: 80, address: "::".into(), pid: 7, program: "x\u{1b}[2J".into() };
        let memory = Memory::default();
        let found = Listening { ports: vec![port], urls: vec!["http://x/\u{9b}2J".into()] };
        print_ports("web", &found, &mut memory.output()).unwrap();
        let expected =
            "PORT  ADDRESS  PID  PROGRAM\n80    ::       7    x\\u{1b}[2J\nshown: http://x/\\u{9b}2J\n";
        assert_eq!(memory.text(), expected);
    }
}
