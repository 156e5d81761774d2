//! Trees of agents and models that do anything: whatever they are, limits, denials and histories hold.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use hpd_agent::{
    declare::Budget,
    event::{EventBody, ThreadHeader},
    id::ThreadKey,
    prelude::*,
    store::ThreadQuery,
    testing::{Reply, ScriptedChatClient},
};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::json;

use crate::support::builder;

const LEVELS: usize = 4;

/// A subagent of a harness.
#[derive(Debug, Clone)]
struct Child {
    context: SubAgentContextPolicy,
    availability: SubAgentAvailability,
    /// What its own run may not have.
    denied: BTreeSet<String>,
    isolated_run: bool,
}

/// The harnesses of a tree: the children of one have the next one.
#[derive(Debug, Clone)]
struct Shape {
    levels: Vec<Vec<Child>>,
    filter: Filter,
    max_children: u32,
    max_depth: u32,
    seed: u64,
}

impl Shape {
    /// The declaration of a subagent, by its name.
    fn child(&self, name: &str) -> &Child {
        let (level, at) = name.strip_prefix('s').and_then(|name| name.split_once('_')).unwrap();
        &self.levels[level.parse::<usize>().unwrap()][at.parse::<usize>().unwrap()]
    }
}

#[derive(Debug, Clone)]
enum Filter {
    Open,
    Allow(BTreeSet<String>),
    Deny(BTreeSet<String>),
    DenyAllExcept(BTreeSet<String>),
}

impl Filter {
    fn make(&self) -> ToolFilter {
        match self.clone() {
            Self::Open => ToolFilter::new(),
            Self::Allow(tools) => ToolFilter::allow(tools),
            Self::Deny(tools) => ToolFilter::deny(tools),
            Self::DenyAllExcept(tools) => ToolFilter::deny_all_except(tools),
        }
    }
}

fn function(level: usize) -> String {
    format!("f{level}")
}

fn sub_agent(level: usize, at: usize) -> String {
    format!("s{level}_{at}")
}

fn tools() -> impl Strategy<Value = BTreeSet<String>> {
    let names: Vec<String> =
        (0..LEVELS).flat_map(|level| [function(level), sub_agent(level, 0), sub_agent(level, 1)]).collect();
    prop::collection::btree_set(prop::sample::select(names), 0..6)
}

fn child() -> impl Strategy<Value = Child> {
    let context = prop_oneof![
        Just(SubAgentContextPolicy::Fork),
        Just(SubAgentContextPolicy::Fresh),
        Just(SubAgentContextPolicy::Isolated),
        Just(SubAgentContextPolicy::ModelChoice),
    ];
    let availability = prop_oneof![
        1 => Just(SubAgentAvailability::ROOT_ONLY),
        1 => Just(SubAgentAvailability::through_depth(2)),
        1 => Just(SubAgentAvailability::through_depth(3)),
        3 => Just(SubAgentAvailability::ANY_ALLOWED_DEPTH),
    ];
    let denied = prop_oneof![3 => Just(BTreeSet::new()), 1 => tools()];
    (context, availability, denied, any::<bool>()).prop_map(|(context, availability, denied, isolated_run)| Child {
        context,
        availability,
        denied,
        isolated_run,
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let filter = prop_oneof![
        3 => Just(Filter::Open),
        1 => tools().prop_map(Filter::Allow),
        3 => tools().prop_map(Filter::Deny),
        1 => tools().prop_map(Filter::DenyAllExcept),
    ];
    let levels = prop::collection::vec(prop::collection::vec(child(), 1..3), 1..=LEVELS);
    (levels, filter, 0u32..20, prop_oneof![1 => 0u32..4, 3 => Just(4)], any::<u64>()).prop_map(
        |(levels, filter, max_children, max_depth, seed)| Shape { levels, filter, max_children, max_depth, seed },
    )
}

/// Calls that really ran: the tool, and the agents from the root to the one that called it.
type Ran = Arc<Mutex<Vec<(String, Vec<String>)>>>;

fn harness(shape: &Shape, level: usize, ran: &Ran) -> Option<Arc<DynamicHarness>> {
    let children = shape.levels.get(level)?;
    let next = harness(shape, level + 1, ran);
    let (name, ran) = (function(level), Arc::clone(ran));
    let mut harness = DynamicHarness::new(format!("random.level{level}")).with_function(
        DynamicFunction::new(name.clone(), "Does something."),
        move |_, context| {
            let chain = context.agent_chain().iter().map(|name| name.to_string()).collect();
            ran.lock().unwrap().push((name.clone(), chain));
            Box::pin(async { Ok("done") })
        },
    );
    for (at, child) in children.iter().enumerate() {
        let name = sub_agent(level, at);
        let config =
            AgentConfig::new(name.clone()).with_system_instructions(format!("I am {name}.")).with_max_iterations(3);
        let run = match child.isolated_run {
            // Its model it has of its parent all the same.
            true => SubAgentRunConfig::inherit_only([]),
            false => SubAgentRunConfig::inherit(),
        };
        let run = run.override_with(|run| run.set_tool_filter(ToolFilter::deny(child.denied.clone())));
        let declared = SubAgent::from_config(format!("agent.{name}"), config)
            .with_description("Does something.")
            .with_context_policy(child.context)
            .with_availability(child.availability)
            .with_run_config(run);
        let declared = match &next {
            Some(next) => declared.with_dynamic_harness(Arc::clone(next)),
            None => declared,
        };
        harness = harness.with_sub_agent(name, declared);
    }
    Some(Arc::new(harness))
}

/// A model that calls anything, also what it has never been shown, and signs what it says.
fn model(seed: u64) -> ScriptedChatClient {
    let state = Mutex::new(seed | 1);
    let next = move |below: u64| {
        let mut state = state.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % below
    };
    ScriptedChatClient::from_fn(move |request| {
        let system = request.system.lines().next().unwrap_or_default();
        let mut reply = Reply::text(format!("{system} says {}", next(1_000_000)));
        let has_asked = request.history.iter().any(|message| message.calls().next().is_some());
        if has_asked && next(3) == 0 {
            return reply;
        }
        for _ in 0..=next(3) {
            let level = usize::try_from(next(LEVELS as u64)).unwrap();
            let shown = usize::try_from(next(u64::try_from(request.tools.len()).unwrap().max(1))).unwrap();
            let arguments = json!({"input": "Work."});
            reply = match (next(8), request.tools.get(shown).map(|tool| tool.name().to_string())) {
                (0..4, Some(name)) if name.starts_with('f') => reply.and_tool_call(name, json!({})),
                (0..4, Some(name)) => reply.and_tool_call(name, arguments),
                (4, _) => reply.and_tool_call(function(level), json!({})),
                (5, _) => reply.and_tool_call(sub_agent(level, 0), json!({"input": "Work.", "context": "fork"})),
                (6, _) => reply.and_tool_call("ghost", arguments),
                (7, _) => reply.and_raw_tool_call(sub_agent(level, 0), "{\"input\":"),
                _ => reply.and_tool_call(sub_agent(level, 1), arguments),
            };
        }
        reply
    })
}

/// Every thread below one, with the depth of its agent.
async fn descendants(agent: &Agent, root: &ThreadKey) -> Vec<(Arc<ThreadHeader>, u32)> {
    let (mut all, mut open) = (Vec::new(), vec![(root.clone(), 0)]);
    while let Some((parent, depth)) = open.pop() {
        for thread in agent.session_store().threads(ThreadQuery::children_of(parent)).await.unwrap() {
            open.push((thread.header.key.clone(), depth + 1));
            all.push((thread.header, depth + 1));
        }
    }
    all
}

async fn check(shape: Shape) {
    let ran: Ran = Arc::default();
    let script = model(shape.seed);
    let agent = builder(&script)
        .with_system_instructions("I am the root.")
        .with_max_iterations(4)
        .with_dynamic_harness(harness(&shape, 0, &ran).unwrap())
        .build()
        .await
        .unwrap();
    let budget = Budget::new().with_max_children(shape.max_children).with_max_depth(shape.max_depth);
    let config = AgentRunConfig::new().with_tool_filter(shape.filter.make()).with_budget(budget);
    let thread = agent.thread("random", "main");
    if let Err(error) = thread.run("Work.").with_run_config(config).await {
        assert_eq!(error.code(), "iteration_limit", "{error}");
    }
    let root = thread.key().unwrap().clone();
    let deepest = shape.max_depth.min(4);
    let filter = shape.filter.make();

    // Nothing ran that is too deep, or that an agent on the way was denied.
    for (tool, chain) in ran.lock().unwrap().iter() {
        let depth = chain.len() - 1;
        assert!(depth <= deepest as usize, "{tool} ran in {chain:?}");
        let permitted = if depth == 0 { filter.permits(tool) } else { filter.permits_descendants(tool) };
        assert!(permitted, "{tool} ran in {chain:?} under {filter:?}");
        for name in chain.iter().skip(1) {
            assert!(!shape.child(name).denied.contains(tool), "{tool} ran in {chain:?}");
        }
    }

    let children = descendants(&agent, &root).await;
    assert!(children.len() <= shape.max_children as usize, "{} children", children.len());
    for (header, depth) in &children {
        let origin = header.origin.as_ref().unwrap();
        let name = origin.sub_agent_name.as_str();
        assert!(*depth <= deepest, "{name} at depth {depth}");
        let permitted = if *depth == 1 { filter.permits(name) } else { filter.permits_descendants(name) };
        assert!(permitted, "{name} at depth {depth} under {filter:?}");
        assert!(shape.child(name).availability.allows_invocation_from(depth - 1), "{name} from depth {}", depth - 1);
    }

    // No request was one that a provider refuses, and what an agent says is in its own journal alone.
    let threads = children.iter().map(|(header, _)| (header.key.clone(), header.origin.as_ref())).chain([(root, None)]);
    for (key, origin) in threads {
        let signed = origin.map_or("I am the root.".to_owned(), |origin| format!("I am {}.", origin.sub_agent_name));
        for record in agent.session_store().read(key.clone(), None, 1, usize::MAX).await.unwrap() {
            match record.event.body() {
                EventBody::ModelRequestFailed(failed) => panic!("{key}: {}", failed.error.message),
                EventBody::ModelResponse(response) => {
                    let text = response.message.text();
                    assert!(text.starts_with(&signed), "{key}: {text}");
                }
                EventBody::ToolCallResult(result) => {
                    for result in result.message.results().filter(|result| result.metadata.sub_agent.is_some()) {
                        let text = result.output.text();
                        let child = format!("I am {}.", result.name);
                        assert!(text.starts_with(&child) || result.output.is_error(), "{key}: {text}");
                    }
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_agents_and_models_do_their_limits_and_histories_hold(shape in shape()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(shape));
    }
}
