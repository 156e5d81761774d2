//! What a program says when it ends: token usage, failures, exit codes.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

use hpd_agent::{
    agent::{AgentUsage, BuildError, RunError},
    message::Usage,
};

/// Why a program ends without having done its work.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The work failed: exit code 1.
    Failed(String),
    /// Somebody pressed Ctrl-C: exit code 130.
    Interrupted,
    /// Nobody reads the output any more, as in `… | head -1`: exit code 141, without a word.
    NobodyReads,
}

impl Failure {
    /// A failure with a text of its own.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
            Self::Interrupted => f.write_str("cancelled"),
            Self::NobodyReads => f.write_str("nobody reads the output"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Failed(format!("the output could not be written: {error}")),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Cancelled => Self::Interrupted,
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Says what went wrong, if anything did, and turns it into an exit code.
pub fn exit(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    // Where standard error is closed as well, there is nobody to tell.
    let mut errors = io::stderr();
    let code = match &failure {
        Failure::Usage(text) => {
            let _ = writeln!(errors, "{program}: {text}\nTry `{program} --help`.");
            2
        }
        Failure::Failed(text) => {
            let _ = writeln!(errors, "{program}: {text}");
            1
        }
        Failure::Interrupted => {
            let _ = writeln!(errors, "{program}: cancelled");
            130
        }
        Failure::NobodyReads => 141,
    };
    ExitCode::from(code)
}

/// Whether any model has said how many tokens it took.
#[must_use]
pub fn reports_tokens(agents: &[AgentUsage]) -> bool {
    agents.iter().any(|agent| agent.usage != Usage::default())
}

/// Writes the token usage of each agent and the sum.
///
/// # Errors
///
/// Those of `out`.
pub fn write_usage(out: &mut impl Write, agents: &[AgentUsage]) -> io::Result<()> {
    let width = agents.iter().map(|agent| agent.agent_name.chars().count()).chain([10]).max().unwrap_or_default();
    writeln!(out, "{:width$}  {:>6}  {:>8}  {:>8}", "tokens", "calls", "input", "output")?;
    let mut sum = (0, Usage::default());
    for agent in agents {
        write_row(out, width, &agent.agent_name, agent.model_calls, agent.usage)?;
        sum = (sum.0 + agent.model_calls, sum.1 + agent.usage);
    }
    if agents.len() > 1 {
        write_row(out, width, "in all", sum.0, sum.1)?;
    }
    Ok(())
}

fn write_row(out: &mut impl Write, width: usize, name: &str, calls: u32, usage: Usage) -> io::Result<()> {
    writeln!(out, "{name:width$}  {calls:>6}  {:>8}  {:>8}", usage.input_tokens, usage.output_tokens)
}

/// Adds the usage of one run to that of those before it.
pub fn add_usage(sum: &mut Vec<AgentUsage>, run: Vec<AgentUsage>) {
    for agent in run {
        match sum.iter_mut().find(|known| known.agent_id == agent.agent_id && known.agent_name == agent.agent_name) {
            Some(known) => {
                known.model_calls += agent.model_calls;
                known.usage += agent.usage;
            }
            None => sum.push(agent),
        }
    }
}
