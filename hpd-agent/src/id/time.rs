use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. On the wire an RFC 3339 text.
///
/// ```
/// # use hpd_agent::id::Timestamp;
/// assert_eq!(serde_json::to_string(&Timestamp::from_millis(1_500))?, "\"1970-01-01T00:00:01.500Z\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The system's time.
    #[must_use]
    pub fn now() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// A point in time from milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Beyond the year 9999 RFC 3339 has no text; such a clock is wrong anyway.
        let latest = std::time::Duration::from_millis(self.0.min(253_402_300_799_999));
        humantime::format_rfc3339_millis(std::time::UNIX_EPOCH + latest).fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
        let since = time.duration_since(std::time::UNIX_EPOCH).map_err(D::Error::custom)?;
        Ok(Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_round_trip() {
        let now = Timestamp::now();
        let json = serde_json::to_string(&now).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), now);
        assert!(Timestamp::from_millis(u64::MAX).to_string().starts_with("9999"));
    }
}
