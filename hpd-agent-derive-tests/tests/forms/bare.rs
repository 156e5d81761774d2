//! Without a prelude and without imports of ours.
#![no_implicit_prelude]

struct Bare;

#[::hpd_agent::tool_harness]
impl Bare {
    /// Reviews.
    #[subagent(agent_id = "bare.reviewer", context = Fork, tool_harnesses = [Bare], metadata(a = "b"))]
    fn reviewer(&self) -> ::hpd_agent::declare::AgentConfig {
        ::hpd_agent::declare::AgentConfig::new("Reviewer")
    }

    /// Researches.
    #[::hpd_agent::subagent(name = NAME)]
    async fn researcher(
        &self,
        context: &::hpd_agent::declare::HarnessContext,
    ) -> ::std::result::Result<::hpd_agent::declare::SubAgent, ::std::string::String> {
        ::std::result::Result::Ok(::hpd_agent::declare::SubAgent::from_parent(context.agent_name()))
    }

    /// Echoes.
    #[::hpd_agent::ai_function]
    async fn echo(
        &self,
        text: ::std::option::Option<::std::string::String>,
        _ctx: &::hpd_agent::declare::FunctionContext,
    ) -> ::std::result::Result<::std::string::String, ::std::string::String> {
        text.ok_or_else(|| ::std::convert::From::from("no text"))
    }

    /// Adds.
    #[ai_function]
    fn add(a: u32, b: u32) -> u32 {
        a + b
    }
}

const NAME: &str = "r";

pub(super) const HARNESS: &dyn super::ErasedHarness = &Bare;
