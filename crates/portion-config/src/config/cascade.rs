//! Determines the settings in force for an endpoint: key by key, those of the most specific matching
//! rule.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::{ClientLimits, LimitValue, Policy, PolicyProfile};
use portion_policy::endpoint::EndpointTarget;
use serde_json::Value as Json;

use super::{Config, Upstream, global_salt};
use crate::key::Key;
use crate::pattern::Pattern;
use crate::read::PatternSettings;
use crate::settings::{Origin, Setting, Settings};
use crate::value::Value;

/// Settings for the endpoints that match a pattern.
#[derive(Clone, Debug)]
pub(crate) struct PatternRule {
    pub(crate) pattern: Pattern,
    pub(crate) settings: Settings,
    /// Salt for assigning sessions to groups: the pattern.
    pub(crate) salt: Arc<str>,
}

/// The settings in force for an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cascade<'a> {
    settings: BTreeMap<&'static str, (&'a Setting, Arc<str>)>,
}

/// The value of a key that was not configured.
#[derive(Debug)]
pub(crate) enum DefaultValue {
    /// A value that follows from other keys.
    Derived(Value),
    /// The default of the key: a value as YAML, or a description of it.
    Described(&'static str),
}

impl TypedValues for Settings {
    fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|set| &set.value)
    }
}

/// Writes the method that returns a value of one type.
macro_rules! getter {
    ($name:ident, $variant:ident($value:ident) -> $type:ty, $result:expr) => {
        fn $name(&self, key: &str) -> Option<$type> {
            match self.value(key) {
                Some(Value::$variant($value)) => Some($result),
                _ => None,
            }
        }
    };
}

/// Values by key. Each method returns `None` for a key without a value of its type.
pub(crate) trait TypedValues {
    /// Returns the value of a key.
    fn value(&self, key: &str) -> Option<&Value>;

    getter!(integer, Integer(number) -> usize, usize::try_from(*number).unwrap_or(usize::MAX));
    getter!(size, Size(bytes) -> usize, usize::try_from(*bytes).unwrap_or(usize::MAX));
    getter!(number, Number(number) -> f64, *number);
    getter!(boolean, Boolean(truth) -> bool, *truth);
    getter!(choice, Choice(word) -> &'static str, word);
    getter!(text, Text(text) -> &str, text);
    getter!(names, Names(names) -> Vec<String>, names.clone());
    getter!(duration, Duration(time) -> Duration, *time);
    // A text with its references followed, which may be secret.
    getter!(revealed, Reference(secret) -> &str, secret.reveal());

    /// Returns the configured value of a limit.
    fn limit_value(&self, key: &str) -> Option<LimitValue> {
        match self.value(key)? {
            Value::Integer(_) => self.integer(key).map(LimitValue::Count),
            Value::Size(_) => self.size(key).map(LimitValue::Bytes),
            Value::Number(share) => Some(LimitValue::Share(*share)),
            Value::Choice(name) => Some(LimitValue::Choice(name)),
            _ => None,
        }
    }

    /// Returns texts by name, with their references followed.
    fn secrets(&self, key: &str) -> Vec<(String, String)> {
        match self.value(key) {
            Some(Value::Secrets(secrets)) => {
                secrets.iter().map(|(name, secret)| (name.clone(), secret.reveal().to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the headers of each request, `Name: value`.
    fn headers(&self) -> Vec<String> {
        self.secrets("headers").iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }
}

impl Config {
    /// Returns the settings in force for an endpoint, or for everything without a target.
    pub(crate) fn cascade(&self, target: Option<EndpointTarget<'_>>) -> Cascade<'_> {
        let Some(target) = target else { return self.base_cascade(None) };
        let mut cascade = self.base_cascade(target.upstream);
        for rule in self.rules_for(target).iter().filter(|rule| rule.pattern.matches(target.name)) {
            cascade.apply_rule(rule);
        }
        cascade
    }

    /// Returns the rules among which are those of an endpoint.
    pub(crate) fn rules_for(&self, target: EndpointTarget<'_>) -> &[PatternRule] {
        self.upstream(target.upstream).map_or(&self.rules, |upstream| &upstream.rules)
    }

    /// Returns the settings in force for all endpoints of a server.
    pub(crate) fn base_cascade(&self, upstream: Option<&str>) -> Cascade<'_> {
        let mut cascade = Cascade::default();
        cascade.overlay(&self.top, &global_salt());
        if let Some(upstream) = self.upstream(upstream) {
            cascade.overlay(&upstream.settings, &upstream.name);
        }
        cascade
    }

    fn upstream(&self, name: Option<&str>) -> Option<&Upstream> {
        let name = name?;
        self.upstreams.iter().find(|upstream| &*upstream.name == name)
    }
}

impl TypedValues for Cascade<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|(set, _)| &set.value)
    }
}

impl<'a> Cascade<'a> {
    /// Returns the setting of a key, and the salt of its level.
    pub(crate) fn get(&self, slot: &str) -> Option<(&'a Setting, &Arc<str>)> {
        self.settings.get(slot).map(|(set, salt)| (*set, salt))
    }

    /// Overrides the settings in force.
    pub(crate) fn overlay(&mut self, settings: &'a Settings, salt: &Arc<str>) {
        self.settings.extend(settings.iter().map(|(slot, set)| (slot, (set, Arc::clone(salt)))));
    }

    /// Applies a rule. Two overlapping rules may have contradictory limits: then the limits of the less
    /// specific rule stay, and the other settings of the new rule apply.
    fn apply_rule(&mut self, rule: &'a PatternRule) {
        if !has_limits(&rule.settings) {
            return self.overlay(&rule.settings, &rule.salt);
        }
        let mut next = self.clone();
        next.overlay(&rule.settings, &rule.salt);
        // A profile also hides secrets, so it is reverted last.
        let limits: Vec<_> = interdependent_limits().collect();
        for reverted in [&*limits, &["profile"]] {
            if next.is_valid() {
                break;
            }
            for slot in reverted {
                match self.settings.get(slot) {
                    Some(set) => drop(next.settings.insert(slot, set.clone())),
                    None => drop(next.settings.remove(slot)),
                }
            }
        }
        *self = next;
    }

    fn is_valid(&self) -> bool {
        self.limit_overrides().resolve(ClientLimits::UNKNOWN).validate().is_ok()
    }

    /// Returns the value in force for a key that was not configured, and its origin; `None` if there is no such value.
    pub(crate) fn effective_default(&self, key: &Key) -> Option<(DefaultValue, Origin)> {
        if key.name == "redact" && self.profile() == PolicyProfile::Lean {
            return Some((DefaultValue::Described("secrets"), Origin::Profile("lean")));
        }
        if let Some(limit) = self.limit_overrides().resolve(ClientLimits::UNKNOWN).limit(key.name) {
            return Some((DefaultValue::Derived(limit.into()), self.default_origin(key.name)));
        }
        (!key.default.is_empty()).then_some((DefaultValue::Described(key.default), Origin::Default))
    }
}

impl DefaultValue {
    /// Returns the value as JSON; a description is a text.
    pub(crate) fn to_json(&self, key: &Key) -> Json {
        match self {
            Self::Derived(value) => value.to_json(),
            Self::Described(text) => {
                key.parse(text).map_or_else(|_| Json::from(*text), |value| value.to_json())
            }
        }
    }
}

/// Writes the value as YAML in one line.
impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Derived(value) => value.fmt(f),
            Self::Described(text) => f.write_str(text),
        }
    }
}

/// Sorts rules from the least to the most specific: those for all servers, and those for this one, which
/// win a tie.
pub(crate) fn rules_by_specificity(any: &PatternSettings, own: Option<&PatternSettings>) -> Vec<PatternRule> {
    let rules = any.0.iter().chain(own.into_iter().flat_map(|own| &own.0));
    let mut rules: Vec<PatternRule> = rules
        .map(|(text, settings)| PatternRule {
            pattern: Pattern::new(text),
            settings: settings.clone(),
            salt: text.as_str().into(),
        })
        .collect();
    // The sort is stable: of equal rules, the later one wins.
    rules.sort_by(|one, other| one.pattern.cmp_specificity(&other.pattern));
    rules
}

/// Returns true if the settings contain limits that must be consistent with others.
pub(super) fn has_limits(settings: &Settings) -> bool {
    settings.iter().any(|(slot, _)| slot == "profile" || interdependent_limits().any(|limit| limit == slot))
}

/// Yields the limits that must be consistent with others; some of them more than once.
fn interdependent_limits() -> impl Iterator<Item = &'static str> {
    Policy::ORDERED.into_iter().flat_map(|(lower, upper)| [lower, upper])
}
