//! What can only be told of settings together: limits that contradict each other, for everything and for each pattern.

use std::collections::BTreeSet;

use portion_core::policy::{Policy, PolicyError, Profile, Room};
use portion_gateway::upstream::http::Target;

use super::{Cascade, Config, Otlp, Rule, cascade, force};
use crate::origin::Origin;
use crate::problem::Problem;
use crate::read::Reading;
use crate::value::Value;

/// Two keys with where their values come from: what was told once is not told for each pattern that inherits it.
type Told = BTreeSet<(&'static str, Origin, &'static str, Origin)>;

/// Rules of which each two are looked at; of more than these, each alone.
const PAIRS: usize = 200;

impl Config {
    pub(super) fn check(&self, reading: &mut Reading) {
        let mut told = Told::new();
        let general = self.general(None);
        reading.problems.extend(crossed(&general, "", &mut told));
        reading.problems.extend(same_names(&general));
        self.check_rules(None, &self.rules, &mut told, reading);
        reading.problems.extend(self.no_collector());
        reading.problems.extend(self.no_header());
        for upstream in &self.upstreams {
            let name = Some(&*upstream.name);
            let general = self.general(name);
            reading.problems.extend(crossed(
                &general,
                &format!(" for the upstream {}", upstream.name),
                &mut told,
            ));
            reading.problems.extend(same_names(&general));
            self.check_rules(name, &upstream.rules, &mut told, reading);
        }
    }

    /// Where metrics would be sent to what is no URL. One with references that nobody followed cannot be told yet.
    fn no_collector(&self) -> Option<Problem> {
        let Otlp::At(url) = self.otlp() else { return None };
        let set = self.top.get("otlp").filter(|_| !url.contains('$') && Target::new(url).is_err())?;
        let fix = "write the whole URL of a collector, such as http://127.0.0.1:4318";
        Some(Problem::new(set.origin.clone(), "otlp is no URL", fix))
    }

    /// A header that is to tell callers apart and has a name that none can have, so that it never would.
    fn no_header(&self) -> Option<Problem> {
        let token = |name: &String| {
            let odd = |byte: u8| !byte.is_ascii_alphanumeric() && !b"!#$%&'*+-.^_`|~".contains(&byte);
            !name.is_empty() && !name.bytes().any(odd)
        };
        let names = self.principal_headers()?;
        let set = self.top.get("principalHeaders")?;
        let fix = "list names of headers, such as Authorization and X-API-Key";
        if names.is_empty() {
            return Some(Problem::new(set.origin.clone(), "principalHeaders is empty", fix));
        }
        let odd = names.iter().find(|name| !token(name))?;
        let message = format!("principalHeaders has `{odd}`, which is no name of a header");
        Some(Problem::new(set.origin.clone(), message, fix))
    }

    fn check_rules(&self, upstream: Option<&str>, rules: &[Rule], told: &mut Told, reading: &mut Reading) {
        let rules: Vec<&Rule> = rules.iter().filter(|rule| cascade::has_limits(&rule.settings)).collect();
        for (i, rule) in rules.iter().enumerate() {
            let whose = format!(" for the endpoint {}", rule.pattern.text());
            reading.problems.extend(crossed(&self.with(upstream, &rules[..i], &[rule]), &whose, told));
        }
        for (i, rule) in rules.iter().enumerate().take(PAIRS) {
            for (j, other) in rules.iter().enumerate().take(i) {
                if !rule.pattern.meets(&other.pattern) || other.pattern.matches(rule.pattern.text()) {
                    continue;
                }
                let both = format!(" where {} and {} meet", other.pattern.text(), rule.pattern.text());
                let met = crossed(&self.with(upstream, &rules[..j], &[other, rule]), &both, told);
                reading.warnings.extend(met.into_iter().map(|problem| Problem {
                    fix: format!("{}; until then limits of the latter are left aside there", problem.fix),
                    ..problem
                }));
            }
        }
    }

    /// What rules decide, with all that is in force for whatever the last of them matches.
    fn with<'a>(&'a self, upstream: Option<&str>, wider: &[&'a Rule], rules: &[&'a Rule]) -> Cascade<'a> {
        let mut cascade = self.general(upstream);
        let all = |name: &str| {
            wider.iter().copied().filter(move |rule| rule.pattern.matches(name)).collect::<Vec<_>>()
        };
        // A pattern that matches the text of another one matches whatever that one does.
        let covering = rules.last().map(|last| all(last.pattern.text())).unwrap_or_default();
        for rule in covering.into_iter().chain(rules.iter().copied()) {
            cascade.overlay(&rule.settings, &rule.salt);
        }
        cascade
    }
}

fn crossed(cascade: &Cascade<'_>, whose: &str, told: &mut Told) -> Vec<Problem> {
    let mut problems = Vec::new();
    for fault in cascade.given().policy(Room::UNKNOWN).faults() {
        // Each value alone was checked where it was read.
        let PolicyError::Crossed { lower, low, upper, high } = fault else { continue };
        let (lower, lower_at) = place(cascade, lower);
        let (upper, upper_at) = place(cascade, upper);
        if !told.insert((lower, lower_at.clone(), upper, upper_at.clone())) {
            continue;
        }
        let fix = format!("raise {upper} or lower {lower}");
        problems.push(if lower_at > upper_at {
            let message = format!("{lower} is {low}{whose}, above {upper}, which is {high} ({upper_at})");
            Problem::new(lower_at, message, fix)
        } else {
            let message = format!("{upper} is {high}{whose}, below {lower}, which is {low} ({lower_at})");
            Problem::new(upper_at, message, fix)
        });
    }
    problems
}

/// Tools of ours are told apart by their names.
fn same_names(cascade: &Cascade<'_>) -> Vec<Problem> {
    let listing = cascade.listing();
    let tools = [
        ("readTool", Some(&listing.read_tool)),
        ("queryTool", listing.query_tool.as_ref()),
        ("describeTool", Some(&listing.describe_tool)),
    ];
    let mut problems = Vec::new();
    for (i, (key, name)) in tools.iter().enumerate() {
        for (other, _) in tools[..i].iter().filter(|(_, known)| known.is_some() && known == name) {
            let (_, one) = place(cascade, key);
            let (_, two) = place(cascade, other);
            let message = format!("{other} and {key} have the same name");
            problems.push(Problem::new(one.max(two), message, "name them differently"));
        }
    }
    problems
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
        let mut given = self.given();
        let limit = |policy: &Policy| force::limit(policy, slot);
        let profiled = limit(&given.policy(Room::UNKNOWN));
        given.profile = Profile::Default;
        match profile.value {
            Value::Word(name) if limit(&given.policy(Room::UNKNOWN)) != profiled => Origin::Profile(name),
            _ => Origin::Default,
        }
    }
}
