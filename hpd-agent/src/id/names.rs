//! Names: text that people and models see, checked when it is made.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::error::IdError;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal, $check:path;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and makes an identifier of it.
            ///
            /// # Errors
            ///
            /// [`IdError`] names the text and the rule that it breaks.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, IdError> {
                let text = text.into();
                match $check(&text) {
                    Ok(()) => Ok(Self(text)),
                    Err(rule) => Err(IdError { kind: $kind, text: text.to_string(), rule }),
                }
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The shared text, for callers that keep it.
            #[allow(dead_code, reason = "not every kind of name is kept by somebody else")]
            #[must_use]
            pub(crate) fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }

            /// For text that the runtime composed of parts that were checked already.
            #[allow(dead_code, reason = "not every kind of name is composed by the runtime")]
            pub(crate) fn trusted(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = IdError;
            fn try_from(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<&$name> for $name {
            type Error = IdError;
            fn try_from(name: &$name) -> Result<Self, IdError> {
                Ok(name.clone())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.as_ref()).map_err(D::Error::custom)
            }
        }
    )*};
}

names! {
    /// The stable identity of an agent's definition: 1–128 characters from `A-Z a-z 0-9 . _ / -`, the first one a
    /// letter or digit.
    ///
    /// ```
    /// # use hpd_agent::id::AgentId;
    /// assert!(AgentId::new("specialist.summarizer").is_ok());
    /// assert!(AgentId::new("has space").is_err());
    /// ```
    AgentId, "agent id", rules::agent_id;

    /// A conversation's session. Chosen by the application or generated: 1–256 characters without white space or
    /// control characters.
    ///
    /// ```
    /// # use hpd_agent::id::SessionId;
    /// assert_eq!(SessionId::new("user-42")?.as_str(), "user-42");
    /// # Ok::<(), hpd_agent::error::IdError>(())
    /// ```
    SessionId, "session id", rules::scope_id;

    /// One thread of a session: the append-only log of one conversation. The same rules as [`SessionId`]; unique
    /// within its session.
    ///
    /// ```
    /// # use hpd_agent::id::ThreadId;
    /// assert_eq!(ThreadId::new("main")?.as_str(), "main");
    /// # Ok::<(), hpd_agent::error::IdError>(())
    /// ```
    ThreadId, "thread id", rules::scope_id;

    /// A tool's name as the model sees it: `^[a-zA-Z0-9_-]{1,64}$`, which is what all providers accept.
    ///
    /// ```
    /// # use hpd_agent::id::ToolName;
    /// assert!(ToolName::new("get_weather").is_ok());
    /// assert!(ToolName::new("get.weather").is_err());
    /// ```
    ToolName, "tool name", rules::tool_name;
}

/// The rules for names, usable in constant expressions so that the macros check constants with the same code.
pub(crate) mod rules {
    /// What an agent id has to look like.
    pub(crate) const AGENT_ID: &str = "1 to 128 characters from A-Z a-z 0-9 . _ / -, the first one a letter or digit";
    /// What a tool name has to look like.
    pub(crate) const TOOL_NAME: &str = "1 to 64 characters from A-Z a-z 0-9 _ -";
    const SCOPE_ID: &str = "1 to 256 characters without white space or control characters";

    pub(crate) const fn agent_id(text: &str) -> Result<(), &'static str> {
        const fn legal(rest: &[u8]) -> bool {
            let mut rest = rest;
            while let [byte, tail @ ..] = rest {
                if !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'_' | b'/' | b'-') {
                    return false;
                }
                rest = tail;
            }
            true
        }
        match text.as_bytes() {
            [first, rest @ ..] if rest.len() < 128 && first.is_ascii_alphanumeric() && legal(rest) => Ok(()),
            _ => Err(AGENT_ID),
        }
    }

    pub(crate) const fn tool_name(text: &str) -> Result<(), &'static str> {
        let mut rest = text.as_bytes();
        if rest.is_empty() || rest.len() > 64 {
            return Err(TOOL_NAME);
        }
        while let [byte, tail @ ..] = rest {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-') {
                return Err(TOOL_NAME);
            }
            rest = tail;
        }
        Ok(())
    }

    pub(crate) fn scope_id(text: &str) -> Result<(), &'static str> {
        let legal = !text.is_empty()
            && text.chars().count() <= 256
            && !text.chars().any(|c| c.is_whitespace() || c.is_control());
        if legal { Ok(()) } else { Err(SCOPE_ID) }
    }
}

/// Makes a legal name part of any text: lower case, runs of other characters become one `-`; `agent` if nothing is
/// left. Used for the ids of root agents and for the names of child threads.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    while out.ends_with('-') {
        out.pop();
    }
    if out.is_empty() {
        out.push_str("agent");
    }
    out.truncate(64);
    out
}

/// The address of a thread: its session and its id within the session. What a conversation is continued by.
///
/// ```
/// # use hpd_agent::id::ThreadKey;
/// let key = ThreadKey::new("user-42", "main")?;
/// assert_eq!(key.to_string(), "user-42/main");
/// # Ok::<(), hpd_agent::error::IdError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThreadKey {
    /// The session.
    pub session_id: SessionId,
    /// The thread within the session.
    pub thread_id: ThreadId,
}

impl ThreadKey {
    /// The address of `thread` in `session`; text or checked ids.
    ///
    /// # Errors
    ///
    /// [`IdError`] if one of them is not a legal id.
    pub fn new<S, T>(session: S, thread: T) -> Result<Self, IdError>
    where
        S: TryInto<SessionId>,
        T: TryInto<ThreadId>,
        IdError: From<S::Error> + From<T::Error>,
    {
        Ok(Self { session_id: session.try_into()?, thread_id: thread.try_into()? })
    }

    pub(crate) fn of(session_id: SessionId, thread_id: ThreadId) -> Self {
        Self { session_id, thread_id }
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session_id, self.thread_id)
    }
}

impl fmt::Debug for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_follow_their_rule() {
        for legal in ["a", "A9", "specialist.summarizer", "research/coordinator", "x-y_z", &"a".repeat(128)] {
            assert!(AgentId::new(legal).is_ok(), "{legal}");
        }
        for illegal in ["", ".a", "-a", "has space", "ä", "a\0", &"a".repeat(129)] {
            let error = AgentId::new(illegal).unwrap_err().to_string();
            assert!(error.contains("agent id") && error.contains("128"), "{illegal}: {error}");
        }
    }

    #[test]
    fn tool_names_follow_their_rule() {
        for legal in ["a", "get_weather", "A-1", &"a".repeat(64)] {
            assert!(ToolName::new(legal).is_ok(), "{legal}");
        }
        for illegal in ["", "a.b", "a b", "é", &"a".repeat(65)] {
            assert!(ToolName::new(illegal).is_err(), "{illegal}");
        }
    }

    #[test]
    fn scope_ids_refuse_white_space_and_control_characters() {
        assert!(SessionId::new("subagent/reviewer/ü").is_ok());
        for illegal in ["", "a b", "a\nb", "a\0b", &"a".repeat(257)] {
            assert!(SessionId::new(illegal).is_err(), "{illegal:?}");
        }
    }

    #[test]
    fn slugs_are_legal_agent_ids() {
        for (text, expected) in [
            ("Coordinator", "coordinator"),
            ("  My  Agent! ", "my-agent"),
            ("日本", "agent"),
            ("", "agent"),
            ("-x-", "x"),
        ] {
            assert_eq!(slug(text), expected);
            assert!(AgentId::new(slug(text)).is_ok());
        }
        assert!(AgentId::new(slug(&"x ".repeat(200))).is_ok());
    }
}
