//! The arguments of `cargo xtask bench`.

/// The parsed arguments.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// Smaller sizes and fewer rounds.
    pub(crate) is_quick: bool,
    /// Ten minutes of rest instead of one.
    pub(crate) is_long: bool,
    pub(crate) as_json: bool,
    /// A missed goal is printed and is no failure.
    pub(crate) is_report_only: bool,
    /// Renews the committed instruction counts.
    pub(crate) is_bless: bool,
    only: Option<String>,
    contenders: Option<Vec<String>>,
}

impl Options {
    /// Returns true if this contender takes part.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.contenders.as_ref().is_none_or(|wanted| wanted.iter().any(|one| one == name))
    }

    /// Returns true if this family is measured.
    pub(crate) fn measures(&self, family: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == family)
    }
}

pub(crate) fn parse(arguments: &[String], families: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" => options.is_quick = true,
            "--long" => options.is_long = true,
            "--json" => options.as_json = true,
            "--report-only" => options.is_report_only = true,
            "--bless" => options.is_bless = true,
            "--only" => options.only = Some(value()?),
            "--contenders" => options.contenders = Some(value()?.split(',').map(str::to_owned).collect()),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    match &options.only {
        Some(only) if !families.contains(&only.as_str()) => {
            Err(format!("no row `{only}`: choose one of {}", families.join(", ")))
        }
        _ => Ok(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words, &["echo", "paint"])
    }

    #[test]
    fn a_family_that_does_not_exist_is_named_with_those_that_do() {
        assert_eq!(parsed("--only nothing"), Err("no row `nothing`: choose one of echo, paint".to_owned()));
        let options = parsed("--only echo --contenders qd,tmux --quick").unwrap();
        assert!(options.measures("echo") && !options.measures("paint"));
        assert!(options.wants("tmux") && !options.wants("screen") && options.is_quick);
        assert!(!options.is_long && parsed("--long").is_ok_and(|options| options.is_long));
        assert!(parsed("--only").is_err() && parsed("--fast").is_err());
    }
}
