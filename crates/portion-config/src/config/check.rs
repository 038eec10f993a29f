//! What can only be told of settings together: limits that contradict each other, for everything and for each pattern.

use std::collections::BTreeSet;

use portion_core::policy::{Policy, PolicyError, Room};

use super::{Cascade, Config, Rule, everywhere};
use crate::origin::Origin;
use crate::read::Reading;

/// Two keys with where their values come from: what was told once is not told for each pattern that inherits it.
type Told = BTreeSet<(&'static str, Origin, &'static str, Origin)>;

impl Config {
    pub(super) fn check(&self, reading: &mut Reading) {
        let mut told = Told::new();
        tell(&self.general(None), "", &mut told, reading);
        tell_tools(&self.general(None), reading);
        for rule in &self.rules {
            self.check_rule(None, rule, &self.rules, &mut told, reading);
        }
        for upstream in &self.upstreams {
            let name = Some(&*upstream.name);
            tell(&self.general(name), &format!(" for the upstream {}", upstream.name), &mut told, reading);
            tell_tools(&self.general(name), reading);
            for rule in &upstream.rules {
                self.check_rule(name, rule, &upstream.rules, &mut told, reading);
            }
        }
    }

    /// What a rule decides together with all that is in force for whatever it matches.
    fn check_rule<'a>(
        &'a self,
        upstream: Option<&str>,
        rule: &'a Rule,
        rules: &'a [Rule],
        told: &mut Told,
        reading: &mut Reading,
    ) {
        let mut cascade = self.general(upstream);
        for wider in rules.iter().take_while(|wider| !std::ptr::eq(*wider, rule)) {
            // A pattern that matches the text of another one matches whatever that one does.
            if wider.pattern.matches(rule.pattern.text()) {
                cascade.overlay(&wider.settings, &wider.salt);
            }
        }
        cascade.overlay(&rule.settings, &everywhere());
        tell(&cascade, &format!(" for the endpoint {}", rule.pattern.text()), told, reading);
    }
}

fn tell(cascade: &Cascade<'_>, whose: &str, told: &mut Told, reading: &mut Reading) {
    for fault in cascade.given().policy(Room::UNKNOWN).faults() {
        // Each value alone was checked where it was read.
        let PolicyError::Crossed { lower, low, upper, high } = fault else { continue };
        let (lower, lower_at) = place(cascade, lower);
        let (upper, upper_at) = place(cascade, upper);
        if !told.insert((lower, lower_at.clone(), upper, upper_at.clone())) {
            continue;
        }
        let fix = format!("raise {upper} or lower {lower}");
        if lower_at > upper_at {
            let message = format!("{lower} is {low}{whose}, above {upper}, which is {high} ({upper_at})");
            reading.say(lower_at, message, fix);
        } else {
            let message = format!("{upper} is {high}{whose}, below {lower}, which is {low} ({lower_at})");
            reading.say(upper_at, message, fix);
        }
    }
}

/// Tools of ours are told apart by their names.
fn tell_tools(cascade: &Cascade<'_>, reading: &mut Reading) {
    let listing = cascade.listing();
    let tools = [
        ("readTool", Some(&listing.read_tool)),
        ("queryTool", listing.query_tool.as_ref()),
        ("describeTool", Some(&listing.describe_tool)),
    ];
    for (i, (key, name)) in tools.iter().enumerate() {
        for (other, _) in tools[..i].iter().filter(|(_, known)| known.is_some() && known == name) {
            let (_, one_at) = place(cascade, other);
            let (_, at) = place(cascade, key);
            let message =
                format!("{key} and {other} have the same name ({})", one_at.clone().min(at.clone()));
            reading.say(at.max(one_at), message, "name them differently");
        }
    }
}

/// The key as it was written, and where.
fn place(cascade: &Cascade<'_>, slot: &'static str) -> (&'static str, Origin) {
    match cascade.get(slot) {
        Some((set, _)) => (set.key.name, set.origin.clone()),
        None => (slot, cascade.unwritten(slot)),
    }
}

impl Cascade<'_> {
    /// Where the value comes from of a limit that nobody wrote.
    pub(crate) fn unwritten(&self, slot: &str) -> Origin {
        let Some((profile, _)) = self.get("profile") else { return Origin::Default };
        let given = self.given();
        let plain =
            portion_core::policy::Given { profile: portion_core::policy::Profile::Default, ..given.clone() };
        let limit = |policy: &Policy| super::force::limit(policy, slot);
        if limit(&given.policy(Room::UNKNOWN)) == limit(&plain.policy(Room::UNKNOWN)) {
            return Origin::Default;
        }
        match profile.value {
            crate::value::Value::Word(name) => Origin::Profile(name),
            _ => Origin::Default,
        }
    }
}
