//! Clients beside the model: who has which, and with what.

use std::{
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{StreamExt, stream};
use hpd_agent::{
    agent::{AgentBuilder, AgentLease, AgentRuntimeResolver, BuildProblem, ResolveError, RunResult},
    chat::{BoxFuture, ChatRequest},
    clients::*,
    declare::{ClientInheritance, ClientPolicies},
    id::{AgentId, SessionId, ThreadId},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
};
use serde_json::{Value, json};

use crate::support::{builder, children, results};

const FAMILIES: [&str; 6] =
    ["realtime", "speechToText", "textToSpeech", "imageGeneration", "embeddings", "hostedFiles"];

/// A client of every family, which answers with what it was told, and says when it is gone.
#[derive(Clone)]
struct Echo(Arc<Named>);

struct Named {
    name: &'static str,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Named {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Echo {
    fn new(name: &'static str) -> Self {
        Self::counted(name, &Arc::default())
    }

    fn counted(name: &'static str, dropped: &Arc<AtomicUsize>) -> Self {
        Self(Arc::new(Named { name, dropped: Arc::clone(dropped) }))
    }

    fn media(&self, told: impl serde::Serialize) -> Media {
        Media::new(format!("{}: {}", self.0.name, json!(told)).into_bytes(), "text/plain")
    }
}

fn text(media: &Media) -> String {
    String::from_utf8(media.bytes().to_vec()).unwrap()
}

impl RealtimeClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn open(&self, request: RealtimeRequest) -> BoxFuture<'_, Result<RealtimeSession, ClientError>> {
        let told = RealtimeEvent::Text(text(&self.media(&*request.config)).into());
        Box::pin(ready(Ok(RealtimeSession::new(Deaf, stream::iter([Ok(told), Ok(RealtimeEvent::TurnEnded)])))))
    }
}

struct Deaf;

impl RealtimeSink for Deaf {
    fn send(&self, _: RealtimeInput) -> BoxFuture<'_, Result<(), ClientError>> {
        Box::pin(ready(Ok(())))
    }
}

impl SpeechToTextClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn transcribe(&self, request: TranscriptionRequest) -> BoxFuture<'_, Result<Transcription, ClientError>> {
        Box::pin(ready(Ok(Transcription::new(text(&self.media(&*request.config))))))
    }
}

impl TextToSpeechClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn speak(&self, request: SpeechRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
        Box::pin(ready(Ok(self.media(&*request.config))))
    }
}

impl ImageGenerationClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn generate(&self, request: ImageRequest) -> BoxFuture<'_, Result<Vec<Media>, ClientError>> {
        Box::pin(ready(Ok((0..request.count).map(|_| self.media(&*request.config)).collect())))
    }
}

/// One vector, however many texts there are.
impl EmbeddingsClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn embed(&self, request: EmbeddingsRequest) -> BoxFuture<'_, Result<EmbeddingsAnswer, ClientError>> {
        let vector = vec![0.5; request.config.dimensions.unwrap_or(1) as usize];
        Box::pin(ready(Ok(EmbeddingsAnswer::new(vec![vector]))))
    }
}

impl HostedFilesClient for Echo {
    fn provider(&self) -> &str {
        self.0.name
    }
    fn upload(&self, upload: FileUpload) -> BoxFuture<'_, Result<HostedFile, ClientError>> {
        Box::pin(ready(Ok(HostedFile::new(text(&self.media(&*upload.config)), upload.name))))
    }
    fn download(&self, file: FileRequest) -> BoxFuture<'_, Result<Media, ClientError>> {
        Box::pin(ready(Ok(self.media(&*file.config))))
    }
    fn delete(&self, file: FileRequest) -> BoxFuture<'_, Result<(), ClientError>> {
        let text = format!("there is no file `{}`", file.id);
        let error = ClientError::new(ClientFamily::HostedFiles, self.0.name, ClientErrorKind::NotFound, text);
        Box::pin(ready(Err(error)))
    }
}

/// What of an agent's clients a function can see.
fn seen(context: &FunctionContext) -> Value {
    let mut all = json!({});
    macro_rules! look {
        ($($name:literal: $family:ident),*) => {
            $(if let Some(leased) = context.$family() {
                all[$name] = json!({ "client": leased.client().provider(), "config": leased.config() });
            })*
        };
    }
    look!(
        "realtime": realtime,
        "speechToText": speech_to_text,
        "textToSpeech": text_to_speech,
        "imageGeneration": image_generation,
        "embeddings": embeddings,
        "hostedFiles": hosted_files
    );
    all
}

/// Looks, and keeps what it is lent.
#[derive(Clone, Default)]
struct Tools {
    files: Arc<Mutex<Option<Leased<HostedFiles>>>>,
    session: Arc<Mutex<Option<RealtimeSession>>>,
}

#[tool_harness(name = "clients.tools")]
impl Tools {
    /// Says which clients there are.
    #[ai_function]
    fn look(&self, context: &FunctionContext) -> Value {
        seen(context)
    }

    /// Keeps the client for files, and a session.
    #[ai_function]
    async fn keep(&self, context: &FunctionContext) -> Result<String, ClientError> {
        *self.files.lock().unwrap() = context.hosted_files();
        if let Some(realtime) = context.realtime() {
            let session = realtime.open("").await?;
            *self.session.lock().unwrap() = Some(session);
        }
        Ok("kept".to_owned())
    }
}

/// A child with these tools.
fn child(run_config: SubAgentRunConfig, config: AgentConfig) -> DynamicHarness {
    let child = SubAgent::from_config("child", config)
        .with_description("A child.")
        .with_context_policy(SubAgentContextPolicy::Fresh)
        .with_tool_harness::<Tools>()
        .with_run_config(run_config);
    DynamicHarness::new("clients.parent").with_sub_agent("child", child)
}

/// A script in which the parent looks, calls the child, which calls a tool, and looks again.
fn script(tool: &str) -> ScriptedChatClient {
    let is_child =
        |request: &ChatRequest| request.history.iter().next().is_some_and(|message| message.text().contains("Go."));
    let look = || Reply::tool_call("look", json!({}));
    ScriptedChatClient::route()
        .when(is_child, [Reply::tool_call(tool, json!({})), Reply::text("child done"), look(), Reply::text("looked")])
        .otherwise([look(), Reply::tool_call("child", json!({"input": "Go."})), look(), Reply::text("done")])
}

/// An agent that was given a client of every family.
fn with_all(builder: AgentBuilder, client: &Echo) -> AgentBuilder {
    builder
        .with_realtime_client(client.clone())
        .with_speech_to_text_client(client.clone())
        .with_text_to_speech_client(client.clone())
        .with_image_generation_client(client.clone())
        .with_embeddings_client(client.clone())
        .with_hosted_files_client(client.clone())
}

/// An agent for which the provider `own` is registered in every family.
fn with_own(builder: AgentBuilder) -> AgentBuilder {
    macro_rules! registry {
        ($family:ident) => {{
            let mut providers = ProviderRegistry::<$family>::new();
            for name in ["first", "own"] {
                providers.register(name, move |_| Ok(Arc::new(Echo::new(name))));
            }
            providers.register("broken", |_| Err("no key".into()));
            providers
        }};
    }
    builder
        .with_realtime_providers(registry!(Realtime))
        .with_speech_to_text_providers(registry!(SpeechToText))
        .with_text_to_speech_providers(registry!(TextToSpeech))
        .with_image_generation_providers(registry!(ImageGeneration))
        .with_embeddings_providers(registry!(Embeddings))
        .with_hosted_files_providers(registry!(HostedFiles))
}

/// What parent and child saw.
async fn looked(agent: &Agent, result: &RunResult) -> (Value, Value) {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let of_parent = results(agent, result).await;
    let [first, _, last] = of_parent.as_slice() else { panic!("{of_parent:?}") };
    // Whatever the child says, its parent has what it had.
    assert_eq!(first.output.text(), last.output.text());
    let [header] = children(agent, result.thread()).await.try_into().unwrap();
    let messages = agent.thread(&header.key.session_id, &header.key.thread_id).messages().await.unwrap();
    let of_child = messages.iter().flat_map(|message| message.results()).next().unwrap().output.text().to_owned();
    (parse(first.output.text()), parse(&of_child))
}

/// A run in which parent and child look.
async fn look(builder: AgentBuilder, run: AgentRunConfig, harness: DynamicHarness) -> (Value, Value) {
    let agent = builder.with_tool_harness::<Tools>().with_dynamic_harness(harness).build().await.unwrap();
    let result = agent.run("Hi.").with_run_config(run).await.unwrap();
    looked(&agent, &result).await
}

fn config(name: &str, clients: Value) -> AgentConfig {
    serde_json::from_value(json!({ "name": name, "clients": clients })).unwrap()
}

fn of_all(choice: &Value) -> Value {
    FAMILIES.iter().map(|family| ((*family).to_owned(), choice.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn options(names: &[&str]) -> Value {
    json!({ "extra": names.iter().map(|name| ((*name).to_owned(), json!(1))).collect::<serde_json::Map<_, _>>() })
}

fn own(names: &[&str]) -> Value {
    let mut choice = options(names);
    choice["provider"] = json!("own");
    choice
}

#[tokio::test]
async fn every_family_is_resolved_by_its_policy() {
    use ClientInheritance::{FallbackToParent, InheritResolved, UseOwn};
    let given = |names: &[&str]| json!({ "client": "given", "config": options(names) });
    let of_own = |names: &[&str]| json!({ "client": "own", "config": own(names) });
    let nothing = Value::Null;
    for (policy, of_config, of_declaration, expected) in [
        // The parent's as it holds in its run, and over it what the child says.
        (InheritResolved, None, None, given(&["parent", "run"])),
        (InheritResolved, Some(options(&["child"])), None, given(&["parent", "run", "child"])),
        (InheritResolved, None, Some(options(&["declared"])), given(&["parent", "run", "declared"])),
        // A provider of its own, with what was said for that one.
        (InheritResolved, Some(own(&["child"])), None, of_own(&["child"])),
        (InheritResolved, None, Some(own(&["declared"])), of_own(&["declared"])),
        (InheritResolved, Some(own(&["child"])), Some(options(&["declared"])), of_own(&["child", "declared"])),
        // Nothing of the parent's.
        (UseOwn, None, None, nothing.clone()),
        (UseOwn, Some(options(&["child"])), None, nothing.clone()),
        (UseOwn, Some(own(&["child"])), None, of_own(&["child"])),
        (UseOwn, None, Some(own(&["declared"])), of_own(&["declared"])),
        // The parent's unless the child says anything.
        (FallbackToParent, None, None, given(&["parent", "run"])),
        (FallbackToParent, Some(options(&["child"])), None, nothing.clone()),
        (FallbackToParent, None, Some(options(&["declared"])), nothing.clone()),
        (FallbackToParent, Some(own(&["child"])), None, of_own(&["child"])),
        (FallbackToParent, None, Some(own(&["declared"])), of_own(&["declared"])),
    ] {
        let chat = ClientPolicies::all(policy).with(ClientFamily::Chat, InheritResolved);
        let mut declared = json!(SubAgentRunConfig::inherit_only([]).with_clients(chat));
        if let Some(choice) = &of_declaration {
            declared["overrides"] = json!({ "clients": of_all(choice) });
        }
        let declared: SubAgentRunConfig = serde_json::from_value(declared).unwrap();
        let of_child = of_config.as_ref().map_or_else(|| json!({}), of_all);
        let run: AgentRunConfig = serde_json::from_value(json!({ "clients": of_all(&options(&["run"])) })).unwrap();
        let model = script("look");
        let builder = with_own(with_all(builder(&model), &Echo::new("given")))
            .with_config(config("Parent", of_all(&options(&["parent"]))));
        let (parent, seen) = look(builder, run, child(declared.clone(), config("Child", of_child))).await;
        assert_eq!(parent, of_all(&given(&["parent", "run"])));
        for family in FAMILIES {
            assert_eq!(seen[family], expected, "{family}: {of_config:?} {declared:?}");
        }
    }
}

#[tokio::test]
async fn by_default_speech_is_inherited_files_are_borrowed_and_the_rest_is_the_childs_own() {
    for (declared, expected) in [
        (SubAgentRunConfig::inherit(), &["hostedFiles", "realtime", "speechToText", "textToSpeech"][..]),
        (SubAgentRunConfig::inherit_only([]), &["hostedFiles", "realtime", "speechToText", "textToSpeech"]),
        (
            SubAgentRunConfig::isolated().with_clients(
                ClientPolicies::all(ClientInheritance::UseOwn)
                    .with(ClientFamily::Chat, ClientInheritance::InheritResolved),
            ),
            &[],
        ),
    ] {
        let model = script("look");
        let builder = with_all(builder(&model), &Echo::new("given"));
        let (parent, seen) = look(builder, AgentRunConfig::new(), child(declared, AgentConfig::new("Child"))).await;
        assert_eq!(parent.as_object().unwrap().len(), 6);
        let mut names: Vec<_> = seen.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn a_declaration_that_sets_only_the_speed_keeps_the_rest() {
    let choice = TextToSpeechConfig::new("first").with_model("large").with_voice("bright");
    let declared = SubAgentRunConfig::inherit()
        .override_with(|run| run.set_text_to_speech(TextToSpeechConfig::default().with_speed(1.5)));
    let model = script("look");
    let builder = with_own(builder(&model)).with_text_to_speech(choice.clone());
    let (parent, seen) = look(builder, AgentRunConfig::new(), child(declared, AgentConfig::new("Child"))).await;
    assert_eq!(parent["textToSpeech"], json!({ "client": "first", "config": choice }));
    assert_eq!(seen["textToSpeech"], json!({ "client": "first", "config": choice.with_speed(1.5) }));
}

#[tokio::test]
async fn a_declaration_wins_over_the_parents_provider() {
    let choice = TextToSpeechConfig::new("first").with_voice("bright").with_speed(0.5);
    let other = TextToSpeechConfig::new("own").with_speed(1.5);
    let declared = SubAgentRunConfig::inherit().override_with(|run| run.set_text_to_speech(other.clone()));
    let model = script("look");
    let builder = with_own(builder(&model));
    let run = AgentRunConfig::new().with_text_to_speech(choice.clone());
    let (parent, seen) = look(builder, run, child(declared, AgentConfig::new("Child"))).await;
    assert_eq!(parent["textToSpeech"], json!({ "client": "first", "config": choice }));
    assert_eq!(seen["textToSpeech"], json!({ "client": "own", "config": other }));
}

#[tokio::test]
async fn what_a_parents_run_says_of_clients_is_not_copied_into_the_childs_run() {
    let files = HostedFilesConfig::new("own");
    let speed = TextToSpeechConfig::default().with_speed(1.5);
    let declared = SubAgentRunConfig::inherit_all().override_with(|run| run.set_text_to_speech(speed.clone()));
    let config = AgentConfig::new("Child").with_hosted_files(files.clone());
    let model = script("look");
    let agent = with_own(with_all(builder(&model), &Echo::new("given")))
        .with_tool_harness::<Tools>()
        .with_dynamic_harness(child(declared, config))
        .build()
        .await
        .unwrap();
    let run = AgentRunConfig::new()
        .with_text_to_speech(TextToSpeechConfig::default().with_voice("bright"))
        .with_realtime(RealtimeConfig::default().with_voice("bright"))
        .with_hosted_files(HostedFilesConfig::default().with_extra("purpose", "notes"));
    let result = agent.run("Hi.").with_run_config(run.clone()).await.unwrap();
    let preview = agent.thread(result.session_id(), result.thread_id());
    let preview = preview.explain("child", r#"{"input": "Go."}"#, &run).await.unwrap();
    assert_eq!(preview.run_config.text_to_speech(), Some(&speed));
    assert_eq!(preview.run_config.realtime(), None);
    assert_eq!(preview.run_config.hosted_files(), None);
    // All the same it has what holds in the parent's run, and files of its own.
    let (_, seen) = looked(&agent, &result).await;
    assert_eq!(seen["textToSpeech"], json!({ "client": "given", "config": { "voice": "bright", "speed": 1.5 } }));
    assert_eq!(seen["realtime"], json!({ "client": "given", "config": { "voice": "bright" } }));
    assert_eq!(seen["hostedFiles"], json!({ "client": "own", "config": files }));
}

#[tokio::test]
async fn a_client_is_dropped_once_and_not_while_it_is_lent() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let gone = || dropped.load(Ordering::SeqCst);
    let tools = Tools::default();
    let model = script("keep");
    let agent = with_all(builder(&model), &Echo::counted("given", &dropped))
        .with_dynamic_harness(child(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
        .with_tool_harness_value(tools.clone())
        .build()
        .await
        .unwrap();
    agent.run("Hi.").await.unwrap();
    assert!(tools.files.lock().unwrap().is_some());
    drop(agent);
    // The agent is gone; the child's function still has what its parent owned.
    assert_eq!(gone(), 0);
    let lent = tools.files.lock().unwrap().take().unwrap();
    assert_eq!(text(&lent.download("1").await.unwrap()), "given: {}");
    let again = lent.clone();
    drop(lent);
    assert_eq!(again.client().provider(), "given");
    drop(again);
    // A session keeps its client, too.
    assert_eq!(gone(), 0);
    let mut session = tools.session.lock().unwrap().take().unwrap();
    session.send(RealtimeInput::EndOfTurn).await.unwrap();
    session.sender().send(RealtimeInput::Interrupt).await.unwrap();
    assert_eq!(session.next().await, Some(Ok(RealtimeEvent::Text("given: {}".into()))));
    assert_eq!(format!("{session:?}"), r#"RealtimeSession { provider: Some("given"), .. }"#);
    drop(session);
    assert_eq!(gone(), 1);
}

#[tokio::test]
async fn what_is_asked_takes_the_configuration_with_it() {
    let harness = DynamicHarness::new("clients.use").with_function(
        DynamicFunction::new("look", "Uses all clients."),
        |_, context| {
            Box::pin(async move {
                let mut said = Vec::new();
                let mut session = context.realtime().unwrap().open("Be kind.").await.unwrap();
                said.push(format!("{:?}", session.next().await.unwrap().unwrap()));
                let sound = Media::new(vec![1, 2], "audio/wav");
                said.push(context.speech_to_text().unwrap().transcribe(sound).await.unwrap().text.to_string());
                said.push(text(&context.text_to_speech().unwrap().speak("Hello.").await.unwrap()));
                let images = context.image_generation().unwrap().generate("a cat").await.unwrap();
                said.extend(images.iter().map(text));
                let embeddings = context.embeddings().unwrap();
                said.push(format!("{:?}", embeddings.embed(["a"]).await.unwrap()));
                said.push(embeddings.embed(["a", "b"]).await.unwrap_err().to_string());
                let files = context.hosted_files().unwrap();
                said.push(files.upload("n", Media::new(vec![], "text/plain")).await.unwrap().id.to_string());
                said.push(files.delete("n").await.unwrap_err().to_string());
                Ok(said)
            })
        },
    );
    let model = ScriptedChatClient::replies([Reply::tool_call("look", json!({})), Reply::text("done")]);
    let agent = with_all(builder(&model), &Echo::new("given"))
        .with_realtime(RealtimeConfig::default().with_voice("v"))
        .with_speech_to_text(SpeechToTextConfig::default().with_language("de"))
        .with_text_to_speech(TextToSpeechConfig::default().with_media_type("audio/wav"))
        .with_image_generation(ImageGenerationConfig::default().with_size("1x1"))
        .with_embeddings(EmbeddingsConfig::default().with_dimensions(2_u32))
        .with_hosted_files(HostedFilesConfig::default().with_extra("purpose", "notes"))
        .with_dynamic_harness(harness)
        .build()
        .await
        .unwrap();
    let result = agent.run("Hi.").await.unwrap();
    let said = results(&agent, &result).await[0].output.text().to_owned();
    let said: Vec<String> = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said,
        [
            r#"Text("given: {\"voice\":\"v\"}")"#,
            r#"given: {"language":"de"}"#,
            r#"given: {"mediaType":"audio/wav"}"#,
            r#"given: {"size":"1x1"}"#,
            "[[0.5, 0.5]]",
            "embeddings provider `given`: it made 1 vectors of 2 texts \
             (check that the address speaks this provider's protocol)",
            r#"given: {"extra":{"purpose":"notes"}}"#,
            "hosted files provider `given`: there is no file `n` (check the id, or upload the file again)",
        ]
    );
}

#[tokio::test]
async fn build_tells_of_every_provider_that_gives_no_client() {
    let declared = SubAgentRunConfig::inherit()
        .override_with(|run| run.set_realtime(RealtimeConfig::new("nowhere")))
        .override_with(|run| run.set_embeddings(EmbeddingsConfig::new("own")));
    let config = AgentConfig::new("Child").with_hosted_files(HostedFilesConfig::new("broken"));
    let error = with_own(builder(&script("look")))
        .with_text_to_speech(TextToSpeechConfig::new("nobody"))
        .with_dynamic_harness(child(declared, config))
        .build()
        .await
        .unwrap_err();
    let problems: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| {
            let BuildProblem::ClientProvider { at, agent, source } = problem else { panic!("{problem}") };
            (agent.as_str(), at.contains("clients.rs:"), problem.code(), source.to_string())
        })
        .collect();
    let known = "(registered: broken, first, own): add it with `ProviderRegistry::register`";
    assert_eq!(
        problems,
        [
            (
                "coordinator",
                false,
                "unknown_provider",
                format!("text-to-speech provider `nobody` is not registered {known}")
            ),
            ("child", true, "unknown_provider", format!("realtime provider `nowhere` is not registered {known}")),
            (
                "child",
                true,
                "provider_failed",
                "hosted files provider `broken` could not make a client: no key".to_owned()
            ),
        ]
    );
}

#[tokio::test]
async fn a_run_may_name_a_provider() {
    let model = ScriptedChatClient::texts(["never asked"]);
    let agent = with_own(builder(&model)).build().await.unwrap();
    let run = AgentRunConfig::new().with_embeddings(EmbeddingsConfig::new("nobody"));
    let error = agent.run("Hi.").with_run_config(run).await.unwrap_err();
    assert_eq!(error.code(), "unknown_provider");
    assert!(error.to_string().starts_with("agent `Coordinator`: embeddings provider `nobody`"), "{error}");
    assert!(model.requests().is_empty());

    let run = AgentRunConfig::new().with_realtime(RealtimeConfig::new("own").with_voice("v"));
    let model = script("look");
    let harness = child(SubAgentRunConfig::inherit(), AgentConfig::new("Child"));
    let (parent, seen) = look(with_own(builder(&model)), run, harness).await;
    assert_eq!(parent, json!({ "realtime": { "client": "own", "config": { "provider": "own", "voice": "v" } } }));
    assert_eq!(seen, parent);
}

#[tokio::test]
async fn a_child_that_is_continued_has_what_its_declaration_says() {
    let own_chat = ClientPolicies::all(ClientInheritance::UseOwn)
        .with(ClientFamily::Chat, ClientInheritance::InheritResolved)
        .with(ClientFamily::Embeddings, ClientInheritance::InheritResolved);
    let declared = SubAgentRunConfig::inherit().with_clients(own_chat);
    let model = ScriptedChatClient::replies([
        Reply::tool_call("child", json!({"input": "Go."})),
        Reply::text("child done"),
        Reply::text("done"),
        Reply::tool_call("look", json!({})),
        Reply::text("looked"),
    ]);
    let agent = with_all(builder(&model), &Echo::new("given"))
        .with_dynamic_harness(child(declared, AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let result = agent.run("Hi.").await.unwrap();
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let result = agent.thread(&header.key.session_id, &header.key.thread_id).run("Look.").await.unwrap();
    let seen: Value = serde_json::from_str(results(&agent, &result).await[0].output.text()).unwrap();
    assert_eq!(seen, json!({ "embeddings": { "client": "given", "config": {} } }));
}

/// Leases an agent for every child.
struct Lends(Agent);

impl AgentRuntimeResolver for Lends {
    fn get_or_build(
        &self,
        _: AgentId,
        _: SessionId,
        _: ThreadId,
    ) -> BoxFuture<'_, Result<Option<AgentLease>, ResolveError>> {
        Box::pin(ready(Ok(Some(AgentLease::new(self.0.clone())))))
    }
}

#[tokio::test]
async fn an_agent_that_is_leased_has_what_it_was_given_and_the_rest_of_its_parent() {
    let model = script("look");
    let leased = Agent::builder()
        .with_name("Child")
        .with_chat_client(model.clone())
        .with_text_to_speech_client(Echo::new("brought"))
        .with_embeddings_client(Echo::new("brought"))
        .with_tool_harness::<Tools>()
        .build()
        .await
        .unwrap();
    let harness = child(SubAgentRunConfig::inherit(), AgentConfig::new("Child"));
    let agent = with_all(builder(&model), &Echo::new("given"))
        .with_tool_harness::<Tools>()
        .with_dynamic_harness(harness)
        .with_runtime_resolver(Arc::new(Lends(leased)))
        .build()
        .await
        .unwrap();
    let result = agent.run("Hi.").await.unwrap();
    let (_, seen) = looked(&agent, &result).await;
    let client = |family: &str| seen[family]["client"].as_str().map(str::to_owned);
    let found = FAMILIES.map(|family| client(family).unwrap_or_default());
    assert_eq!(found, ["given", "given", "brought", "", "brought", "given"]);

    // So it has when its conversation goes on.
    let [header] = children(&agent, result.thread()).await.try_into().unwrap();
    let result = agent.thread(&header.key.session_id, &header.key.thread_id).run("Look.").await.unwrap();
    let again: Value = serde_json::from_str(results(&agent, &result).await.last().unwrap().output.text()).unwrap();
    assert_eq!(again, seen);
}

#[tokio::test]
async fn a_preview_says_of_which_families_the_child_has_a_client() {
    let model = ScriptedChatClient::texts(["never asked"]);
    let agent = with_all(builder(&model), &Echo::new("given"))
        .with_dynamic_harness(child(SubAgentRunConfig::inherit(), AgentConfig::new("Child")))
        .build()
        .await
        .unwrap();
    let preview = agent.explain("child", r#"{"input": "Go."}"#).unwrap();
    let expected =
        [ClientFamily::Realtime, ClientFamily::SpeechToText, ClientFamily::TextToSpeech, ClientFamily::HostedFiles];
    assert_eq!(preview.clients, expected);
}

#[test]
fn choices_are_stored_and_what_is_not_known_is_refused() {
    let run = AgentRunConfig::new().with_embeddings(EmbeddingsConfig::new("mine").with_dimensions(3_u32));
    let json = serde_json::to_string(&run).unwrap();
    assert_eq!(json, r#"{"clients":{"embeddings":{"provider":"mine","dimensions":3}}}"#);
    assert_eq!(serde_json::from_str::<AgentRunConfig>(&json).unwrap(), run);
    let config = config("a", of_all(&own(&["x"])));
    assert_eq!(serde_json::from_value::<AgentConfig>(json!(config)).unwrap(), config);
    assert_eq!(config.image_generation(), Some(&ImageGenerationConfig::new("own").with_extra("x", 1)));
    for wrong in [json!({ "embedings": {} }), json!({ "embeddings": { "dimension": 3 } })] {
        let error = serde_json::from_value::<AgentConfig>(json!({ "name": "a", "clients": wrong })).unwrap_err();
        assert!(error.to_string().contains("unknown field"), "{error}");
    }
}
