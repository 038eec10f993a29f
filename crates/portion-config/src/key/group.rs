//! What a key belongs to, as help and documentation sort them.

/// What a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyGroup {
    /// How tools are listed.
    Tools,
    /// How much a reply may be.
    Limits,
    /// How long, and how much, is kept for follow-ups.
    Retention,
    /// What is known of payloads, and done to them.
    Payloads,
    /// How replies are written.
    Replies,
    /// For whom replies are shaped.
    Rollout,
    /// Where we listen.
    Listeners,
    /// What we tell our operator.
    Log,
    /// When our operator is to be told, and where.
    Alerts,
    /// The servers that we stand in front of, and rules for what they offer.
    Servers,
}

impl KeyGroup {
    /// Every group, in the order in which it is shown.
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

    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Limits => "Limits",
            Self::Retention => "Keeping",
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
