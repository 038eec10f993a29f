//! Values in force for keys that were not configured.

use portion_core::policy::{ClientLimits, FirstRows, Policy, PolicyProfile, RowStyle};

use super::Cascade;
use crate::key::Key;
use crate::origin::Origin;
use crate::value::Value;

impl Cascade<'_> {
    /// Returns the value in force for a key that was not configured, as YAML, and its origin; `None` if
    /// there is no such value.
    pub(crate) fn effective_default(&self, key: &Key) -> Option<(String, Origin)> {
        if key.name == "redact" && self.profile() == PolicyProfile::Lean {
            return Some(("secrets".into(), Origin::Profile("lean")));
        }
        if let Some(value) = policy_limit(&self.limit_overrides().resolve(ClientLimits::UNKNOWN), key.name) {
            return Some((value.to_string(), self.default_origin(key.name)));
        }
        (!key.default.is_empty()).then(|| (key.default.to_owned(), Origin::Default))
    }
}

/// Returns a limit of a policy by its key.
pub(super) fn policy_limit(policy: &Policy, key: &str) -> Option<Value> {
    let whole = |number: usize| Some(Value::Integer(number as u64));
    let size = |bytes: usize| Some(Value::Size(bytes as u64));
    match key {
        "tokenBudgetThreshold" => whole(policy.token_budget_threshold),
        "replyTarget" => whole(policy.reply_target),
        "hardCap" => whole(policy.hard_cap),
        "hardByteLimit" => size(policy.hard_byte_limit),
        "fallbackByteLimit" => size(policy.fallback_byte_limit),
        "defaultPageSize" => whole(policy.default_page_size),
        "maxPageSize" => whole(policy.max_page_size),
        "firstRows" => {
            Some(Value::Choice(if policy.first_rows == FirstRows::Sample { "sample" } else { "page" }))
        }
        "rows" => Some(Value::Choice(if policy.rows == RowStyle::Auto { "auto" } else { "objects" })),
        _ => None,
    }
}
