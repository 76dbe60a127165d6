//! `qd completions`: prints the completion script of a shell. Bash, zsh and fish call `qd complete` at each
//! Tab, so that names of processes are known; for other shells the script is generated from the grammar.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::context::Context;
use crate::errors::CliError;

const BASH: &str = r#"_qd() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _qd qd
"#;

const ZSH: &str = r#"#compdef qd
_qd() {
    local -a found
    found=("${(@f)$("${words[1]}" complete -- "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -- "${found[@]}"
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_qd" ]; then
    _qd "$@"
else
    compdef _qd qd
fi
"#;

const FISH: &str = r#"function __qd_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        string join \n -- $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c qd -f -a '(__qd_complete)'
"#;

/// Print the completion script of a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let script = match self.shell {
            Shell::Bash => BASH.as_bytes().to_vec(),
            Shell::Zsh => ZSH.as_bytes().to_vec(),
            Shell::Fish => FISH.as_bytes().to_vec(),
            other => {
                let mut script = Vec::new();
                clap_complete::generate(other, &mut Cli::command(), "qd", &mut script);
                script
            }
        };
        context.out.bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
