//! Which model answers: the command line, the environment, or a stand-in.

use std::{sync::Arc, time::Duration};

use hpd_agent::chat::{
    ChatClient, OfflineChatClient,
    genai::{GenaiChatClient, GenaiProvider},
};

use crate::report::Failure;

/// How long a local server may take to say which models it has.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// The client of a run, and the line that says what it is.
#[derive(Clone)]
pub struct Model {
    /// The client.
    pub client: Arc<dyn ChatClient>,
    /// What it is and why it was chosen, on one line.
    pub announcement: String,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("announcement", &self.announcement).finish_non_exhaustive()
    }
}

/// What answers if nobody named a model and there is no key.
#[derive(Debug)]
pub enum Choice {
    /// A real model, or the offline client because somebody asked for it by name.
    Found(Model),
    /// Nothing was found: the example has a stand-in.
    Nothing,
}

impl Choice {
    /// The model that was found, else the offline client.
    #[must_use]
    pub fn or_offline(self) -> Model {
        match self {
            Self::Found(model) => model,
            Self::Nothing => offline("none was named and no key was found, see --help"),
        }
    }
}

/// Chooses the model: `--model`, else `HPD_MODEL`, else the first provider whose key is in the environment, else a
/// local OpenAI-compatible server at `HPD_BASE_URL`.
///
/// # Errors
///
/// [`Failure`] if a model was named that there is none of, or if it lacks a key.
pub async fn choose(option: Option<&str>) -> Result<Choice, Failure> {
    let server = variable("HPD_BASE_URL");
    if let Some(name) = option {
        return named(name, "--model", server.as_deref()).map(Choice::Found);
    }
    if let Some(name) = variable("HPD_MODEL") {
        return named(&name, "HPD_MODEL", server.as_deref()).map(Choice::Found);
    }
    if let Some(client) = GenaiChatClient::from_environment() {
        let why = found_by(client.provider());
        return Ok(Choice::Found(real(client, &why)));
    }
    match server {
        Some(url) => local(&url).await.map(Choice::Found),
        None => Ok(Choice::Nothing),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The variable that made the environment choose this provider.
fn found_by(provider: GenaiProvider) -> String {
    let keys = provider.key_variables().iter().copied();
    let set = keys.chain([provider.base_url_variable()]).find(|name| variable(name).is_some());
    set.map_or_else(|| "found in the environment".to_owned(), |name| format!("{name} is set"))
}

/// The model that somebody named: `provider/model`, `provider`, or the name of a model at `HPD_BASE_URL`.
fn named(name: &str, whence: &str, server: Option<&str>) -> Result<Model, Failure> {
    let why = format!("chosen by {whence}");
    let (provider, model) = name.split_once('/').map_or((name, None), |(provider, model)| (provider, Some(model)));
    if provider == "offline" {
        return Ok(offline(&why));
    }
    let (provider, model) = match (provider.parse::<GenaiProvider>(), server) {
        (Ok(provider), _) => (provider, model.unwrap_or_else(|| provider.default_model())),
        (Err(_), Some(_)) => (GenaiProvider::OpenAiCompatible, name),
        (Err(_), None) => {
            let known: Vec<_> = GenaiProvider::ALL.iter().map(|provider| provider.name()).collect();
            return Err(Failure::Usage(format!(
                "{whence} says `{name}`: expected PROVIDER/MODEL, where PROVIDER is {} or offline",
                known.join(", ")
            )));
        }
    };
    if model.is_empty() {
        return Err(Failure::Usage(format!("{whence} says `{name}`: the name of the model is missing")));
    }
    let mut client = GenaiChatClient::new(provider, model);
    if let Some(url) = server.filter(|_| provider == GenaiProvider::OpenAiCompatible) {
        client = client.with_base_url(url);
    }
    client.check_configuration().map_err(|error| Failure::failed(error.to_string()))?;
    Ok(real(client, &why))
}

/// The first model of a server that speaks OpenAI's protocol.
async fn local(url: &str) -> Result<Model, Failure> {
    let provider = GenaiProvider::OpenAiCompatible;
    let client = GenaiChatClient::new(provider, provider.default_model()).with_base_url(url);
    let models = match tokio::time::timeout(LIST_TIMEOUT, client.models()).await {
        Ok(Ok(models)) => models,
        // Not every server can list its models, and some that have one only take any name.
        Ok(Err(error)) if error.status().is_some() => Vec::new(),
        Ok(Err(error)) => return Err(Failure::failed(format!("HPD_BASE_URL is {url}: {error}"))),
        Err(_) => return Err(Failure::failed(format!("HPD_BASE_URL is {url}: the server does not answer"))),
    };
    let client = match models.first() {
        Some(model) => GenaiChatClient::new(provider, &*model.name).with_base_url(url),
        None => client,
    };
    Ok(real(client, &format!("at {url}")))
}

fn real(client: GenaiChatClient, why: &str) -> Model {
    let announcement = format!("model: {}/{} ({why})", client.info().provider(), client.info().model());
    Model { client: Arc::new(client), announcement }
}

fn offline(why: &str) -> Model {
    let client = OfflineChatClient::new();
    let announcement = format!(
        "model: {}/{}, the built-in offline client, which is no language model and cuts sentences out of a text ({why})",
        client.info().provider(),
        client.info().model()
    );
    Model { client: Arc::new(client), announcement }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(name: &str, server: Option<&str>) -> Result<String, String> {
        let model = named(name, "--model", server).map_err(|failure| failure.to_string())?;
        let info = model.client.info();
        Ok(format!("{}/{}", info.provider(), info.model()))
    }

    #[test]
    fn a_name_has_a_provider_unless_there_is_a_server() {
        let server = Some("http://127.0.0.1:1/v1");
        assert_eq!(announced("ollama/qwen3:4b", None).unwrap(), "ollama/qwen3:4b");
        assert_eq!(announced("offline", None).unwrap(), "offline/extractive-1");
        assert_eq!(announced("openai-compatible/a/b", server).unwrap(), "openai-compatible/a/b");
        assert_eq!(announced("qwen/qwen3", server).unwrap(), "openai-compatible/qwen/qwen3");
        assert!(announced("qwen3", None).unwrap_err().contains("PROVIDER/MODEL"));
        assert!(announced("ollama/", None).unwrap_err().contains("missing"));
    }
}
