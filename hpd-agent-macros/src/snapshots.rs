//! What an expansion looks like, one snapshot for each form, and what is left of input that is not typed to its end.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand;

/// The expansion as formatted code, without the user's own block where that says nothing new.
fn expanded(arguments: TokenStream, item: TokenStream) -> String {
    let tokens = expand::tool_harness(quote!(crate = ::hpd_agent, #arguments), item);
    match syn::parse2::<syn::File>(tokens.clone()) {
        Ok(file) => prettyplease::unparse(&file),
        Err(error) => format!("// not a file: {error}\n{tokens}"),
    }
}

macro_rules! snapshot {
    ($name:ident, [$($arguments:tt)*], $($item:tt)*) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(expanded(quote!($($arguments)*), quote!($($item)*)));
        }
    };
}

snapshot!(smallest_sub_agent, [], impl Tools {
    /// Reviews.
    #[subagent(agent_id = "reviewer")]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer")
    }
});

snapshot!(largest_sub_agent, [name = "tools"], impl Tools {
    /// Reviews.
    #[cfg(feature = "review")]
    #[subagent(
        agent_id = ids::REVIEWER,
        name = "review",
        description = "Reviews a draft.",
        context = ModelChoice,
        invocation_mode = BackgroundOnly,
        availability = SubAgentAvailability::through_depth(Self::DEPTH),
        lifecycle = Continuable,
        fork_compaction = Disable,
        background_notification = BackgroundNotification::None,
        tool_harnesses = [Search, Generic<A, B>],
        metadata(team = "writing", "max-rounds" = 3),
    )]
    #[must_use]
    pub async fn reviewer<'a>(&'a self, context: &'a HarnessContext) -> Result<AgentConfig, Error> {
        self.config(context).await
    }
});

snapshot!(sub_agents_without_an_id, [], impl Tools {
    /// A value.
    #[subagent]
    fn value() -> SubAgent {
        SubAgent::from_parent("value")
    }

    /// A value, later.
    #[subagent]
    async fn later(&self) -> SubAgent {
        SubAgent::from_parent("later")
    }
});

snapshot!(functions, [], impl Tools {
    /// Gets the weather.
    #[ai_function(requires_permission, exclusive = false)]
    async fn weather(&self, #[doc = " Where."] city: String, ctx: &FunctionContext) -> Result<Weather, Error> {
        station(city, ctx).await
    }

    /// Adds.
    #[ai_function(name = NAME)]
    fn add(a: u32, mut b: u32) -> u32 {
        b += a;
        b
    }
});

snapshot!(parameters, [], impl Tools {
    /// Searches.
    #[ai_function]
    fn search(
        &self,
        query: String,
        #[doc = " How many."]
        #[arg(default = 10)]
        limit: u32,
        #[cfg(feature = "tags")]
        #[arg(name = "labels", description = LABELS, default)]
        tags: Vec<String>,
    ) -> String {
        query
    }
});

snapshot!(constants_that_may_be_duplicates, [], impl Tools {
    /// Reviews.
    #[subagent(agent_id = ids::REVIEWER, name = names::REVIEW)]
    fn reviewer(&self) -> AgentConfig {
        config()
    }

    /// Edits.
    #[cfg(feature = "edit")]
    #[subagent(agent_id = "editor")]
    fn editor(&self) -> AgentConfig {
        config()
    }

    /// Reviews and edits under conditions that exclude each other.
    #[cfg(not(feature = "edit"))]
    #[subagent(agent_id = "editor", name = "editor")]
    fn both(&self) -> AgentConfig {
        config()
    }
});

snapshot!(
    generic,
    [],
    impl<'a, T: Named, const N: usize> Tools<'a, T, N>
    where
        T: Clone,
    {
        /// Depends on the parameters, and does not.
        #[subagent(agent_id = T::ID, context = Fork, availability = Self::AVAILABILITY, metadata(n = N))]
        fn reviewer(&self) -> AgentConfig {
            config()
        }
    }
);

snapshot!(mistakes_leave_the_block_and_the_harness, [nam = "x"], impl Tools {
    #[subagent(agent_id = "has space", contxt = Fork)]
    fn wrong(&mut self) -> AgentConfig {
        config()
    }

    /// Right.
    #[ai_function]
    fn right(&self) {}

    const OTHER: u32 = 1;
});

snapshot!(half_typed_arguments, [], impl Tools {
    /// Reviews.
    #[subagent(agent_id = , context = Fo, tool_harnesses = [Search,], availability = SubAgentAvailability::)]
    fn reviewer(&self) -> AgentConfig {
        config().
    }
});

snapshot!(half_typed_signature, [], impl Tools {
    /// Not yet a method.
    #[ai_function]
    fn weather(&self, city) -> {}

    /// A method.
    #[ai_function]
    fn right(&self) {}

    /// Not even a name.
    #[subagent(agent_id = "x")]
    fn
});

snapshot!(
    not_an_impl,
    [],
    #[derive(Default)]
    pub struct Tools {
        #[subagent]
        x: u32,
    }
);

#[test]
fn what_stands_outside_is_left_without_the_attribute() {
    let item = quote! {
        /// Echoes.
        #[ai_function]
        fn echo(&self, #[doc = " What."] text: String) -> String { text. }
    };
    let left = expand::outside("subagent", item).to_string();
    assert!(left.contains("compile_error") && left.contains("# [doc = r\" Echoes.\"]"), "{left}");
    assert!(!left.contains("What.") && !left.contains("ai_function]"), "{left}");
    let anything = expand::outside(
        "subagent",
        quote!(
            struct X;
        ),
    )
    .to_string();
    assert!(anything.ends_with("struct X ;"), "{anything}");
}
