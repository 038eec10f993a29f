//! The table of all limits: for each the field of a policy, its default and smallest value, and its configuration key.

use super::{
    FillStrategy, FirstRows, MIN_BUDGET, MIN_BYTE_LIMIT, OrderStrategy, PolicyProfile, RenderOptions,
    RowStyle,
};

/// Value of a limit, as configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitValue {
    /// A number of tokens, items or lines.
    Count(usize),
    /// A number of bytes.
    Bytes(usize),
    /// A share, from 0 to 1.
    Share(f64),
    /// The name of a choice.
    Choice(&'static str),
}

impl LimitValue {
    /// Returns a number of tokens, items, lines or bytes.
    pub(super) fn as_count(self) -> Option<usize> {
        match self {
            Self::Count(number) | Self::Bytes(number) => Some(number),
            Self::Share(_) | Self::Choice(_) => None,
        }
    }
}

/// Converts between a field and its [`LimitValue`].
macro_rules! convert {
    (to Choice, $value:expr) => {
        LimitValue::Choice($value.name())
    };
    (to $kind:ident, $value:expr) => {
        LimitValue::$kind($value)
    };
    (from Choice, $value:expr, $type:ty) => {
        match $value {
            LimitValue::Choice(name) => <$type>::from_name(name),
            _ => None,
        }
    };
    (from $kind:ident, $value:expr, $type:ty) => {
        match $value {
            LimitValue::$kind(value) => Some(value),
            _ => None,
        }
    };
}

/// Defines [`Policy`] and [`LimitOverrides`] from rows of
/// `field: type = default, kind "key"`, and `at least` a minimum if there is one.
macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $kind:ident $key:literal $(at least $least:expr)?;)+) => {
        /// The limits on the replies of an endpoint. Tokens are counted by the configured counter.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Policy {
            $($(#[$doc])* pub $field: $type,)+
            /// All settings that are not limits.
            pub render_options: RenderOptions,
        }

        impl Default for Policy {
            fn default() -> Self {
                Self { $($field: $default,)+ render_options: RenderOptions::default() }
            }
        }

        /// The configured limits; the others are `None`. The members are those of [`Policy`].
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct LimitOverrides {
            $($(#[$doc])* pub $field: Option<$type>,)+
            /// Profile that limits with `None` are taken from.
            pub profile: PolicyProfile,
            /// All settings that are not limits.
            pub render_options: RenderOptions,
        }

        impl Policy {
            /// Returns the limit of a configuration key; `None` if the key is not that of a limit.
            pub fn limit(&self, key: &str) -> Option<LimitValue> {
                match key {
                    $($key => Some(convert!(to $kind, self.$field)),)+
                    _ => None,
                }
            }

            /// Returns the limits that have a minimum: key, value and minimum.
            pub(super) fn minimums(&self) -> Vec<(&'static str, usize, usize)> {
                vec![$($(($key, self.$field, $least),)?)+]
            }
        }

        impl LimitOverrides {
            /// Returns the limits that are configured. `configured`: the value of a key.
            pub fn from_values(configured: impl Fn(&'static str) -> Option<LimitValue>) -> Self {
                Self {
                    $($field: configured($key).and_then(|value| convert!(from $kind, value, $type)),)+
                    ..Self::default()
                }
            }

            /// Returns the configured limits, and those of `base` for the others.
            pub(super) fn or(&self, base: Policy) -> Policy {
                Policy {
                    $($field: self.$field.unwrap_or(base.$field),)+
                    render_options: self.render_options.clone(),
                }
            }
        }

        impl From<&Policy> for LimitOverrides {
            /// Sets every limit as if it had been configured.
            fn from(policy: &Policy) -> Self {
                Self {
                    $($field: Some(policy.$field),)+
                    profile: PolicyProfile::Default,
                    render_options: policy.render_options.clone(),
                }
            }
        }
    };
}

limits! {
    /// Maximum tokens of a reply, unless the request asks for a larger one.
    token_budget_threshold: usize = 4_000, Count "tokenBudgetThreshold" at least MIN_BUDGET;
    /// Target tokens of such a reply when the payload is oversized.
    reply_target: usize = 4_000, Count "replyTarget" at least MIN_BUDGET;
    /// Target tokens of a first reply that shows the best of many ranked records, such as retrieved passages.
    ranked_target: usize = 1_800, Count "rankedTarget" at least MIN_BUDGET;
    /// Maximum tokens of a reply to an explicit request. A payload with two forms shares it between them.
    hard_cap: usize = 12_000, Count "hardCap" at least 2 * MIN_BUDGET;
    /// Maximum bytes of a reply on the wire, whatever its tokens.
    hard_byte_limit: usize = 65_536, Bytes "hardByteLimit" at least MIN_BYTE_LIMIT;
    /// Maximum bytes of a reply on the wire when counting tokens failed.
    fallback_byte_limit: usize = 10_240, Bytes "fallbackByteLimit" at least MIN_BYTE_LIMIT;
    /// Maximum bytes of an image or audio block that is passed on.
    media_byte_limit: usize = 5 << 20, Bytes "mediaByteLimit";
    /// Tokens that an image or audio block counts as.
    media_tokens: usize = 1_600, Count "mediaTokens";
    /// Maximum tokens of a payload that is passed on whole in any case.
    full_below: usize = 500, Count "fullBelow";
    /// Items per page.
    default_page_size: usize = 50, Count "defaultPageSize" at least 1;
    /// Maximum items per page that can be requested.
    max_page_size: usize = 200, Count "maxPageSize";
    /// Tokens above which a single object is summarized.
    summarize_above: usize = 2_000, Count "summarizeAbove";
    /// Tokens above which text is chunked.
    chunk_above: usize = 2_000, Count "chunkAbove";
    /// Tokens per chunk.
    chunk_size: usize = 2_000, Count "chunkSize" at least 100;
    /// Lines per chunk.
    chunk_lines: usize = 200, Count "chunkLines" at least 1;
    /// Share of the budget from which a reply suggests a narrower call.
    warn_at: f64 = 0.8, Share "warnAt";
    /// Format of the records of a page.
    rows: RowStyle = RowStyle::Objects, Choice "rows";
    /// Content of a first reply.
    first_rows: FirstRows = FirstRows::Page, Choice "firstRows";
    /// Order of a list when the request asks for none.
    strategy: OrderStrategy = OrderStrategy::Auto, Choice "strategy";
    /// Selection of ranked records when not all fit.
    fill: FillStrategy = FillStrategy::Stop, Choice "fill";
}
