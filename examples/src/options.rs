//! The command line of the examples.

use std::ffi::{OsStr, OsString};

use hpd_agent::chat::{ChatConfig, ChatOptions};

use crate::report::Failure;

/// What all examples understand.
pub const COMMON_HELP: &str = "\
Options:
  --model PROVIDER/MODEL  the model, for example openai/gpt-5-mini; PROVIDER alone: its usual one; offline: none;
                          with HPD_BASE_URL also the name of a model there
  --max-tokens N          the most tokens of each answer of a model, also of a subagent's
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
    /// `--max-tokens`.
    pub max_tokens: Option<u32>,
    /// The options of this example alone that were given.
    pub own: Vec<&'static str>,
    /// `--yes`.
    pub yes: bool,
    /// `--help`.
    pub help: bool,
    /// What is no option, in order. A single `-` counts as such.
    pub arguments: Vec<OsString>,
}

impl Options {
    /// Reads the command line of this process; `limit` is the largest number of arguments that are no options, `own`
    /// are options without a value that this example alone has.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for what it does not know.
    pub fn from_command_line(limit: usize, own: &[&'static str]) -> Result<Self, Failure> {
        Self::parse(std::env::args_os().skip(1), limit, own)
    }

    /// What an agent's model is told because of these options.
    #[must_use]
    pub fn chat(&self) -> ChatConfig {
        let mut options = ChatOptions::default();
        options.max_tokens = self.max_tokens;
        ChatConfig::inherited(options)
    }

    /// Whether an option of this example alone was given.
    #[must_use]
    pub fn has(&self, own: &str) -> bool {
        self.own.contains(&own)
    }

    fn parse(arguments: impl Iterator<Item = OsString>, limit: usize, own: &[&'static str]) -> Result<Self, Failure> {
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
                Some(text) => {
                    if let Some(known) = own.iter().find(|known| **known == text) {
                        options.own.push(known);
                        continue;
                    }
                    let (name, given) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
                    if !matches!(name, "--model" | "--max-tokens") {
                        return Err(wrong(format!("there is no option `{text}`")));
                    }
                    let value = given.map(OsString::from).or_else(|| arguments.next());
                    let value = value.ok_or_else(|| wrong(format!("`{name}` needs a value")))?;
                    match name {
                        "--model" => options.model = Some(model(&value)?),
                        _ => options.max_tokens = Some(max_tokens(&value)?),
                    }
                }
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

fn max_tokens(value: &OsStr) -> Result<u32, Failure> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(tokens) if tokens > 0 => Ok(tokens),
        _ => Err(wrong("`--max-tokens` needs a number, at least 1")),
    }
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        Options::parse(arguments.iter().map(OsString::from), 1, &["--own"]).map_err(|failure| failure.to_string())
    }

    #[test]
    fn options_stand_anywhere_until_two_dashes() {
        let expected =
            Options { model: Some("a/b".to_owned()), yes: true, arguments: vec!["-".into()], ..Options::default() };
        assert_eq!(parse(&["--yes", "-", "--model", "a/b"]), Ok(expected));
        let options = parse(&["--model=x", "--", "--yes"]).unwrap();
        assert!(!options.yes);
        assert_eq!(options.arguments, ["--yes"]);
    }

    #[test]
    fn an_example_can_have_options_of_its_own() {
        let options = parse(&["--own", "--max-tokens", "200", "a"]).unwrap();
        assert!(options.has("--own") && options.max_tokens == Some(200) && options.arguments == ["a"]);
        assert_eq!(parse(&["--max-tokens=7"]).unwrap().chat().options.max_tokens, Some(7));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (arguments, expected) in [
            (&["--modle", "x"][..], "`--modle`"),
            (&["--model"], "needs a value"),
            (&["--model="], "needs a name"),
            (&["--max-tokens", "0"], "needs a number"),
            (&["--own=x"], "`--own=x`"),
            (&["a", "b"], "`b`"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(parse(&["a", "b", "--help"]).unwrap().help);
    }
}
