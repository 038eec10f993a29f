//! Which settings are in force for an endpoint: key by key, those of the most specific rule that matches it.

use std::collections::BTreeMap;
use std::sync::Arc;

use portion_core::policy::ClientLimits;
use portion_gateway::policy_source::EndpointTarget;

use super::{Config, Upstream, global_salt};
use crate::pattern::Pattern;
use crate::read::PatternSettings;
use crate::settings::{Setting, Settings};

/// Settings for what a pattern matches.
#[derive(Clone, Debug)]
pub(crate) struct PatternRule {
    pub(crate) pattern: Pattern,
    pub(crate) settings: Settings,
    /// What sessions are told apart by: the pattern.
    pub(crate) salt: Arc<str>,
}

/// What is in force for an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cascade<'a> {
    settings: BTreeMap<&'static str, (&'a Setting, Arc<str>)>,
}

/// The limits that have to be valid together.
const INTERDEPENDENT_LIMITS: &[&str] = &[
    "tokenBudgetThreshold",
    "replyTarget",
    "hardCap",
    "hardByteLimit",
    "fallbackByteLimit",
    "defaultPageSize",
    "maxPageSize",
];

/// Rules from the least to the most specific: those for any server, and those for this one, which win a tie.
pub(crate) fn rules_by_specificity(any: &PatternSettings, own: Option<&PatternSettings>) -> Vec<PatternRule> {
    let rules = any.0.iter().chain(own.into_iter().flat_map(|own| &own.0));
    let mut rules: Vec<PatternRule> = rules
        .map(|(text, settings)| PatternRule {
            pattern: Pattern::new(text),
            settings: settings.clone(),
            salt: text.as_str().into(),
        })
        .collect();
    // Stable: of equals the later one wins.
    rules.sort_by(|one, other| one.pattern.cmp_specificity(&other.pattern));
    rules
}

/// Whether there is something among them that has to agree with others.
pub(super) fn has_limits(settings: &Settings) -> bool {
    settings.iter().any(|(slot, _)| slot == "profile" || INTERDEPENDENT_LIMITS.contains(&slot))
}

impl Config {
    /// What is in force for an endpoint, or for everything where none is named.
    pub(crate) fn cascade(&self, target: Option<EndpointTarget<'_>>) -> Cascade<'_> {
        let Some(target) = target else { return self.base_cascade(None) };
        let upstream = self.upstream(target.upstream);
        let mut cascade = self.base_cascade(target.upstream);
        let rules = upstream.map_or(&self.rules, |upstream| &upstream.rules);
        for rule in rules.iter().filter(|rule| rule.pattern.matches(target.name)) {
            cascade.apply_rule(rule);
        }
        cascade
    }

    /// What is in force for all that a server offers.
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

impl<'a> Cascade<'a> {
    /// What was written for a key, and the salt of where.
    pub(crate) fn get(&self, slot: &str) -> Option<(&'a Setting, &Arc<str>)> {
        self.settings.get(slot).map(|(set, salt)| (*set, salt))
    }

    /// Puts settings over what is in force.
    pub(crate) fn overlay(&mut self, settings: &'a Settings, salt: &Arc<str>) {
        self.settings.extend(settings.iter().map(|(slot, set)| (slot, (set, Arc::clone(salt)))));
    }

    /// Puts a rule over what is in force. Two rules that nobody thought of together may have limits that contradict
    /// each other: then those of the less specific one stand, and of the other all the rest.
    fn apply_rule(&mut self, rule: &'a PatternRule) {
        if !has_limits(&rule.settings) {
            return self.overlay(&rule.settings, &rule.salt);
        }
        let mut next = self.clone();
        next.overlay(&rule.settings, &rule.salt);
        // A profile hides secrets, too, so it goes last.
        for kept in [INTERDEPENDENT_LIMITS, &["profile"]] {
            if next.is_valid() {
                break;
            }
            for slot in kept {
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
}
