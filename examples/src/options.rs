//! The command line of the examples.

use std::ffi::{OsStr, OsString};

use crate::report::Failure;

/// What all examples understand.
pub const COMMON_HELP: &str = "\
Options:
  --model PROVIDER/MODEL  the model, for example openai/gpt-5-mini; PROVIDER alone: its usual one; offline: none;
                          with HPD_BASE_URL also the name of a model there
  -y, --yes               allow every tool; without it you are asked at the terminal
  -h, --help              this text

Which model: --model, else HPD_MODEL, else the first provider whose key is in the environment (OPENAI_API_KEY,
ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY, …), else an OpenAI-compatible server at HPD_BASE_URL (for example
http://127.0.0.1:8080/v1), else a stand-in that works offline and says so.

Exit codes: 0 done, 1 failed, 2 wrong command line, 130 cancelled by Ctrl-C, 141 nobody reads the output.
";

/// A command line, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--model`.
    pub model: Option<String>,
    /// `--yes`.
    pub yes: bool,
    /// `--help`.
    pub help: bool,
    /// What is no option, in order. A single `-` counts as such.
    pub arguments: Vec<OsString>,
}

impl Options {
    /// Reads the command line of this process; `limit` is the largest number of arguments that are no options.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for what it does not know.
    pub fn from_command_line(limit: usize) -> Result<Self, Failure> {
        Self::parse(std::env::args_os().skip(1), limit)
    }

    fn parse(arguments: impl Iterator<Item = OsString>, limit: usize) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut arguments = arguments;
        let mut only_arguments = false;
        while let Some(argument) = arguments.next() {
            let text = argument.to_str().filter(|text| !only_arguments && text.len() > 1 && text.starts_with('-'));
            match text {
                None => options.arguments.push(argument),
                Some("--") => only_arguments = true,
                Some("-y" | "--yes") => options.yes = true,
                Some("-h" | "--help") => options.help = true,
                Some("--model") => {
                    let value = arguments.next().ok_or_else(|| wrong("`--model` needs a value"))?;
                    options.model = Some(model(&value)?);
                }
                Some(text) => match text.strip_prefix("--model=") {
                    Some(value) => options.model = Some(model(OsStr::new(value))?),
                    None => return Err(wrong(format!("there is no option `{text}`"))),
                },
            }
        }
        match options.arguments.get(limit) {
            Some(extra) if !options.help => Err(wrong(format!("`{}` is one argument too many", extra.display()))),
            _ => Ok(options),
        }
    }
}

fn model(value: &OsStr) -> Result<String, Failure> {
    match value.to_str().map(str::trim) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(wrong("`--model` needs a name, for example `openai/gpt-5-mini`")),
    }
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::parse(arguments.iter().map(OsString::from), 1).map_err(|failure| failure.to_string())
    }

    #[test]
    fn options_stand_anywhere_until_two_dashes() {
        let expected = Options { model: Some("a/b".to_owned()), yes: true, help: false, arguments: vec!["-".into()] };
        assert_eq!(parse(&["--yes", "-", "--model", "a/b"]), Ok(expected));
        let options = parse(&["--model=x", "--", "--yes"]).unwrap();
        assert!(!options.yes);
        assert_eq!(options.arguments, ["--yes"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, expected) in [
            (&["--modle", "x"][..], "`--modle`"),
            (&["--model"], "needs a value"),
            (&["--model="], "needs a name"),
            (&["a", "b"], "`b`"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(parse(&["a", "b", "--help"]).unwrap().help);
    }
}
