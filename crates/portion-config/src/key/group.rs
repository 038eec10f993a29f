//! Groups of keys, for help and documentation.

/// The group of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyGroup {
    /// Listing of tools.
    Tools,
    /// Size limits of replies.
    Limits,
    /// Retention of payloads for follow-ups.
    Retention,
    /// Knowledge about payloads, and their treatment.
    Payloads,
    /// Format of replies.
    Replies,
    /// Selection of the sessions whose replies are shaped.
    Rollout,
    /// Addresses to listen at.
    Listeners,
    /// Logs and records for the operator.
    Log,
    /// Alerts for the operator.
    Alerts,
    /// Upstream servers, and rules for their endpoints.
    Servers,
}

impl KeyGroup {
    /// All groups, in display order.
    pub const ALL: [Self; 10] = [
        Self::Limits,
        Self::Retention,
        Self::Payloads,
        Self::Replies,
        Self::Rollout,
        Self::Tools,
        Self::Servers,
        Self::Listeners,
        Self::Log,
        Self::Alerts,
    ];

    /// Returns the heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Limits => "Limits",
            Self::Retention => "Storage",
            Self::Payloads => "Payloads",
            Self::Replies => "Replies",
            Self::Rollout => "Rollout",
            Self::Listeners => "Listeners",
            Self::Log => "Log",
            Self::Alerts => "Alerts",
            Self::Servers => "Servers",
        }
    }
}
