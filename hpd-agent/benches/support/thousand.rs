//! An agent with 1,000 subagents, in ten harnesses of 100 methods.

use hpd_agent::{agent::Agent, prelude::*};

/// Ten harnesses, each with the same methods under names of its own.
macro_rules! harnesses {
    ($($harness:ident)*) => {
        $(harness! { $harness
            m00 m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19
            m20 m21 m22 m23 m24 m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39
            m40 m41 m42 m43 m44 m45 m46 m47 m48 m49 m50 m51 m52 m53 m54 m55 m56 m57 m58 m59
            m60 m61 m62 m63 m64 m65 m66 m67 m68 m69 m70 m71 m72 m73 m74 m75 m76 m77 m78 m79
            m80 m81 m82 m83 m84 m85 m86 m87 m88 m89 m90 m91 m92 m93 m94 m95 m96 m97 m98 m99
        })*

        /// Builds the agent.
        pub(crate) async fn build() -> Agent {
            Agent::builder()
                .with_name("Coordinator")
                .with_system_instructions("Delegate.")
                .with_chat_client(super::support::Instant::default())
                $(.with_tool_harness::<$harness>())*
                .with_permissions(Permissions::allow_all())
                .build()
                .await
                .expect("the agent builds")
        }
    };
}

macro_rules! harness {
    ($harness:ident $($method:ident)*) => {
        #[derive(Default)]
        struct $harness;

        #[tool_harness]
        impl $harness {
            $(
                /// Does what it is asked to do before the parent answers.
                #[subagent(
                    agent_id = concat!("bench.", stringify!($harness), ".", stringify!($method)),
                    name = concat!(stringify!($harness), "_", stringify!($method)),
                )]
                fn $method(&self) -> AgentConfig {
                    AgentConfig::new("Specialist").with_system_instructions("Summarize in three bullets.")
                }
            )*
        }
    };
}

harnesses! { A B C D E F G H I J }
