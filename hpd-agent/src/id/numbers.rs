//! Numbers: identities that the runtime generates.

use std::{cell::RefCell, fmt, str::FromStr};

use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::error::IdError;

thread_local! {
    static RANDOM: RefCell<StdRng> = RefCell::new(StdRng::from_rng(&mut rand::rng()));
}

/// 128 random bits from a per-thread generator that was seeded by the operating system.
pub(crate) fn random_u128() -> u128 {
    RANDOM.with_borrow_mut(|random| (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64()))
}

/// 64 random bits, never 0.
pub(crate) fn random_u64() -> u64 {
    RANDOM.with_borrow_mut(|random| random.next_u64().max(1))
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            /// A new, unique identifier.
            #[must_use]
            pub fn generate() -> Self {
                Self(random_u128())
            }

            /// The identifier with this value; for stores that keep it as a number.
            #[must_use]
            pub const fn from_u128(value: u128) -> Self {
                Self(value)
            }

            /// The identifier as a number.
            #[must_use]
            pub const fn as_u128(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let well_formed = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
                match u128::from_str_radix(text, 16) {
                    Ok(value) if well_formed => Ok(Self(value)),
                    _ => Err(IdError { kind: $kind, text: text.to_owned(), rule: "32 hexadecimal digits" }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

numbers! {
    /// One message of a conversation.
    MessageId, "message id";
    /// One event of a journal.
    EventId, "event id";
    /// One execution of an agent on a thread, from its start to its end.
    ExecutionId, "execution id";
    /// One turn: from an input to the answer to it.
    TurnId, "turn id";
    /// One delegation from a parent to a child. Not a routing identity: a child is continued by its session and
    /// thread.
    InvocationId, "invocation id";
    /// One question to a human (or to the policy that stands for one).
    RequestId, "request id";
    /// One batch of a store, so that a batch whose outcome is unknown can be submitted again.
    CommitId, "commit id";
    /// One background task.
    TaskId, "task id";
    /// One process that owns executions.
    OwnerId, "owner id";
    /// The trace that an execution belongs to (W3C trace context).
    TraceId, "trace id";
}

/// One tool call: the assistant message that made it and its position among that message's calls.
///
/// It is ours. The id that a provider gave the call is kept beside it and is used on the wire only, so that providers
/// which reuse their ids do no harm. Its text form (`<message>-<position>`) is legal as a call id for all providers.
///
/// ```
/// # use hpd_agent::id::{CallId, MessageId};
/// let call = CallId::new(MessageId::from_u128(7), 1);
/// assert_eq!(call.to_string(), "00000000000000000000000000000007-1");
/// assert_eq!(call.to_string().parse::<CallId>()?, call);
/// # Ok::<(), hpd_agent::error::IdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    message: MessageId,
    index: u32,
}

impl CallId {
    /// The call at position `index` (from 0) of an assistant message.
    #[must_use]
    pub const fn new(message: MessageId, index: u32) -> Self {
        Self { message, index }
    }

    /// The assistant message that made the call.
    #[must_use]
    pub const fn message(self) -> MessageId {
        self.message
    }

    /// The position among the calls of that message, from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.message, self.index)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CallId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let parts =
            text.split_once('-').and_then(|(message, index)| Some((message.parse().ok()?, index.parse().ok()?)));
        parts.map(|(message, index)| Self { message, index }).ok_or_else(|| IdError {
            kind: "call id",
            text: text.to_owned(),
            rule: "32 hexadecimal digits, `-`, and a position",
        })
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_through_text_and_json() {
        let id = MessageId::generate();
        assert_eq!(id.to_string().parse::<MessageId>().unwrap(), id);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<MessageId>(&json).unwrap(), id);
        for bad in ["", "12", &"g".repeat(32), "+1111111111111111111111111111111"] {
            assert!(bad.parse::<MessageId>().is_err(), "{bad}");
        }
        for bad in ["", "1-2", &format!("{id}-"), &format!("{id}-x")] {
            assert!(bad.parse::<CallId>().is_err(), "{bad}");
        }
    }
}
