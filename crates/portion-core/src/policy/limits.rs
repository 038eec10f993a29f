//! The table of all limits: for each the field of a policy, its default and smallest value, and its configuration key.

use super::{FillStrategy, FirstRows, MIN_BUDGET, MIN_BYTE_LIMIT, OrderStrategy, RenderOptions, RowStyle};
use crate::named_choices::named_choices;

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
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $kind:ident $key:literal $(at least $min:expr)?;)+) => {
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
                vec![$($(($key, self.$field, $min),)?)+]
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

/// Limits of a client for one reply: anything above is truncated, rejected or stored elsewhere before a
/// model sees it. `None` means that no limit is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Tokens of a reply.
    pub max_tokens: Option<usize>,
    /// Bytes of a reply on the wire. A limit in characters is valid here too, because a character has at
    /// least one byte.
    pub max_bytes: Option<usize>,
    /// Bytes of an image or audio block.
    pub max_media_bytes: Option<usize>,
}

impl ClientLimits {
    /// No known limits.
    pub const UNKNOWN: Self = Self { max_tokens: None, max_bytes: None, max_media_bytes: None };

    /// Returns a limit less 10 %: two counters never agree, and a client may add words of its own.
    pub const fn with_headroom(limit: usize) -> usize {
        limit - limit.div_ceil(10)
    }

    /// Returns the lower limits of both.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let less = |one: Option<usize>, other: Option<usize>| one.into_iter().chain(other).min();
        Self {
            max_tokens: less(self.max_tokens, other.max_tokens),
            max_bytes: less(self.max_bytes, other.max_bytes),
            max_media_bytes: less(self.max_media_bytes, other.max_media_bytes),
        }
    }
}

/// The profile of replies, used where no limit is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyProfile {
    /// As in [`Policy::default`].
    #[default]
    Default,
    /// As in [`Policy::lean`].
    Lean,
    /// As in [`Policy::soft`].
    Soft,
}

named_choices!(PolicyProfile { Default = "default", Lean = "lean", Soft = "soft" });

impl LimitOverrides {
    /// Returns the policy for a client with these limits.
    ///
    /// If the policy is [valid](Policy::validate) for [`ClientLimits::UNKNOWN`], it is valid for all
    /// clients: where a client limit is below what any reply needs, the smallest working value is used.
    pub fn resolve(&self, client: ClientLimits) -> Policy {
        let base = Policy::default();
        let tokens =
            |limit: usize, min: usize| client.max_tokens.map_or(limit, |max| limit.min(max.max(min)));
        let bytes = |limit: usize, min: usize| client.max_bytes.map_or(limit, |max| limit.min(max.max(min)));

        let min = self.reply_target.max(self.ranked_target).unwrap_or(0).max(MIN_BUDGET);
        let threshold =
            self.token_budget_threshold.unwrap_or_else(|| tokens(base.token_budget_threshold, min));
        let wide = Policy {
            token_budget_threshold: threshold,
            reply_target: threshold,
            hard_cap: base.hard_cap.max(threshold),
            ..base
        };
        let base = match self.profile {
            PolicyProfile::Default => wide,
            PolicyProfile::Lean => wide.lean(),
            PolicyProfile::Soft => wide.soft(),
        };
        let reply_target = base.reply_target.min(threshold);
        // Who set the size of replies, or how to fill them, wants them filled with passages.
        let is_sized = self.token_budget_threshold.or(self.reply_target).is_some() || self.fill.is_some();
        let ranked_target =
            if is_sized { self.reply_target.unwrap_or(reply_target) } else { base.ranked_target };
        let min = self.fallback_byte_limit.unwrap_or(0).max(MIN_BYTE_LIMIT);
        let hard_byte_limit = self.hard_byte_limit.unwrap_or_else(|| bytes(base.hard_byte_limit, min));
        let media_byte_limit = base.media_byte_limit.min(client.max_media_bytes.unwrap_or(usize::MAX));
        self.or(Policy {
            token_budget_threshold: threshold,
            reply_target,
            ranked_target: ranked_target.min(reply_target),
            hard_cap: tokens(base.hard_cap, threshold.max(2 * MIN_BUDGET)),
            hard_byte_limit,
            fallback_byte_limit: base.fallback_byte_limit.min(hard_byte_limit),
            media_byte_limit,
            max_page_size: base.max_page_size.max(self.default_page_size.unwrap_or(base.default_page_size)),
            ..base
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ClientLimits, LimitOverrides, Policy, PolicyProfile};
    use crate::policy::{FirstRows, RowStyle};

    fn check(given: &LimitOverrides, client: ClientLimits, expect: &Policy) {
        assert_eq!(given.resolve(client), *expect, "{given:?} {client:?}");
    }

    fn tokens(max: usize) -> ClientLimits {
        ClientLimits { max_tokens: Some(max), ..ClientLimits::UNKNOWN }
    }

    fn bytes(max: usize) -> ClientLimits {
        ClientLimits { max_bytes: Some(max), ..ClientLimits::UNKNOWN }
    }

    #[test]
    fn unset_limits_follow_configured_ones() {
        let base = Policy::default;
        let none = LimitOverrides::default();
        check(&none, ClientLimits::UNKNOWN, &base());
        let given = LimitOverrides { token_budget_threshold: Some(20_000), ..none.clone() };
        let expect = Policy {
            token_budget_threshold: 20_000,
            reply_target: 20_000,
            ranked_target: 20_000,
            hard_cap: 20_000,
            ..base()
        };
        check(&given, ClientLimits::UNKNOWN, &expect);
        let given = LimitOverrides { reply_target: Some(1_500), ..none.clone() };
        check(&given, ClientLimits::UNKNOWN, &Policy { reply_target: 1_500, ranked_target: 1_500, ..base() });
        let given = LimitOverrides { ranked_target: Some(3_500), ..none.clone() };
        check(&given, ClientLimits::UNKNOWN, &Policy { ranked_target: 3_500, ..base() });
        let given =
            LimitOverrides { default_page_size: Some(300), hard_byte_limit: Some(5_000), ..none.clone() };
        let expect = Policy {
            default_page_size: 300,
            max_page_size: 300,
            hard_byte_limit: 5_000,
            fallback_byte_limit: 5_000,
            ..base()
        };
        check(&given, ClientLimits::UNKNOWN, &expect);
        check(
            &LimitOverrides { profile: PolicyProfile::Lean, ..none },
            ClientLimits::UNKNOWN,
            &base().lean(),
        );
    }

    #[test]
    fn client_limits_lower_unset_limits() {
        let base = Policy::default;
        let none = LimitOverrides::default();
        check(&none, tokens(90_000), &base());
        check(&none, bytes(90_000), &base());
        check(&none, tokens(9_000), &Policy { hard_cap: 9_000, ..base() });
        let sized = |tokens, hard_cap| Policy {
            token_budget_threshold: tokens,
            reply_target: tokens,
            ranked_target: tokens,
            hard_cap,
            ..base()
        };
        let small = sized(1_800, 1_800);
        check(&none, tokens(1_800), &small);
        check(&none, tokens(0), &sized(300, 600));
        check(&none, bytes(9_000), &Policy { hard_byte_limit: 9_000, fallback_byte_limit: 9_000, ..base() });
        check(&none, bytes(1), &Policy { hard_byte_limit: 4_096, fallback_byte_limit: 4_096, ..base() });
        let media = ClientLimits { max_media_bytes: Some(1_000), ..ClientLimits::UNKNOWN };
        check(&none, media, &Policy { media_byte_limit: 1_000, ..base() });
        let lean = Policy {
            hard_cap: 1_800,
            reply_target: 1_200,
            ranked_target: 600,
            token_budget_threshold: 1_800,
            rows: RowStyle::Auto,
            first_rows: FirstRows::Sample,
            ..base()
        };
        check(&LimitOverrides { profile: PolicyProfile::Lean, ..none }, tokens(1_800), &lean);
    }

    #[test]
    fn configured_limits_ignore_client_limits() {
        let client = tokens(0)
            .intersect(bytes(0))
            .intersect(ClientLimits { max_media_bytes: Some(0), ..ClientLimits::UNKNOWN });
        let policy = Policy::default();
        check(&LimitOverrides::from(&policy), client, &policy);
        let given = LimitOverrides {
            reply_target: Some(3_000),
            fallback_byte_limit: Some(8_000),
            ..LimitOverrides::default()
        };
        let policy = given.resolve(client);
        assert_eq!(
            (policy.reply_target, policy.token_budget_threshold, policy.hard_cap),
            (3_000, 3_000, 3_000)
        );
        assert_eq!((policy.fallback_byte_limit, policy.hard_byte_limit), (8_000, 8_000));
    }

    #[test]
    fn headroom_is_a_tenth() {
        assert_eq!([0, 1, 9, 10, 25_000].map(ClientLimits::with_headroom), [0, 0, 8, 9, 22_500]);
        assert_eq!(ClientLimits::with_headroom(usize::MAX), usize::MAX / 10 * 9 + 4);
    }

    fn client_limit() -> impl Strategy<Value = Option<usize>> {
        prop_oneof![Just(None), (0_usize..30_000).prop_map(Some), any::<usize>().prop_map(Some)]
    }

    /// Limits in rising order, some of them configured.
    fn rising<const N: usize>() -> impl Strategy<Value = [Option<usize>; N]> {
        (any::<[bool; N]>(), proptest::array::uniform(600_usize..80_000)).prop_map(
            |(given, mut limits): (_, [usize; N])| {
                limits.sort_unstable();
                std::array::from_fn(|i| given[i].then_some(limits[i]))
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

        #[test]
        fn client_limits_keep_a_policy_valid_and_never_raise_it(
            [ranked, target, threshold, cap] in rising(),
            [fallback, hard] in rising(),
            media in client_limit(),
            [tokens, bytes, media_bytes] in [client_limit(), client_limit(), client_limit()],
            profile in prop_oneof![Just(PolicyProfile::Default), Just(PolicyProfile::Lean), Just(PolicyProfile::Soft)],
        ) {
            let given = LimitOverrides {
                token_budget_threshold: threshold,
                reply_target: target,
                ranked_target: ranked,
                hard_cap: cap,
                hard_byte_limit: hard,
                fallback_byte_limit: fallback,
                media_byte_limit: media,
                profile,
                ..LimitOverrides::default()
            };
            let wide = given.resolve(ClientLimits::UNKNOWN);
            prop_assume!(wide.validate().is_ok());
            let narrow = given.resolve(ClientLimits { max_tokens: tokens, max_bytes: bytes, max_media_bytes: media_bytes });
            prop_assert_eq!(narrow.validate(), Ok(()));
            let limits = |policy: &Policy| [
                policy.ranked_target, policy.token_budget_threshold, policy.reply_target, policy.hard_cap,
                policy.hard_byte_limit, policy.fallback_byte_limit, policy.media_byte_limit,
            ];
            for (i, (narrow, wide)) in limits(&narrow).into_iter().zip(limits(&wide)).enumerate() {
                let given = [ranked, threshold, target, cap, hard, fallback, media][i];
                prop_assert!(narrow <= wide);
                prop_assert!(given.is_none_or(|given| given == narrow));
            }
        }
    }
}
