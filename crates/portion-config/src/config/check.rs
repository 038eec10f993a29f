//! What can only be told of settings together: limits that contradict each other, for everything and for each pattern.

use std::collections::BTreeSet;

use portion_core::policy::{ClientLimits, Policy, PolicyError, PolicyProfile};
use portion_gateway::upstream::http::UpstreamTarget;

use super::{Cascade, Config, OtlpTarget, PatternRule, cascade, defaults};
use crate::origin::Origin;
use crate::problem::Problem;
use crate::read::ConfigReader;
use crate::value::Value;

/// Two keys with where their values come from: what was told once is not told for each pattern that inherits it.
type ReportedConflicts = BTreeSet<(&'static str, Origin, &'static str, Origin)>;

/// Rules of which each two are looked at; of more than these, each alone.
const MAX_PAIRED_RULES: usize = 200;

impl Config {
    pub(super) fn check(&self, reading: &mut ConfigReader) {
        let mut told = ReportedConflicts::new();
        let general = self.base_cascade(None);
        reading.problems.extend(conflicting_limits(&general, "", &mut told));
        reading.problems.extend(duplicate_tool_names(&general));
        self.check_rules(None, &self.rules, &mut told, reading);
        reading.problems.extend(self.invalid_otlp_url());
        reading.problems.extend(self.invalid_principal_header());
        for upstream in &self.upstreams {
            let name = Some(&*upstream.name);
            let general = self.base_cascade(name);
            reading.problems.extend(conflicting_limits(
                &general,
                &format!(" for the upstream {}", upstream.name),
                &mut told,
            ));
            reading.problems.extend(duplicate_tool_names(&general));
            self.check_rules(name, &upstream.rules, &mut told, reading);
        }
    }

    /// Where metrics would be sent to what is no URL. One with references that nobody followed cannot be told yet.
    fn invalid_otlp_url(&self) -> Option<Problem> {
        let OtlpTarget::Collector(url) = self.otlp() else { return None };
        let set = self.top.get("otlp").filter(|_| !url.contains('$') && UpstreamTarget::new(url).is_err())?;
        let fix = "write the whole URL of a collector, such as http://127.0.0.1:4318";
        Some(Problem::new(set.origin.clone(), "otlp is no URL", fix))
    }

    /// A header that is to tell callers apart and has a name that none can have, so that it never would.
    fn invalid_principal_header(&self) -> Option<Problem> {
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

    fn check_rules(
        &self,
        upstream: Option<&str>,
        rules: &[PatternRule],
        told: &mut ReportedConflicts,
        reading: &mut ConfigReader,
    ) {
        let rules: Vec<&PatternRule> =
            rules.iter().filter(|rule| cascade::has_limits(&rule.settings)).collect();
        for (i, rule) in rules.iter().enumerate() {
            let whose = format!(" for the endpoint {}", rule.pattern.text());
            reading.problems.extend(conflicting_limits(
                &self.cascade_with_rules(upstream, &rules[..i], &[rule]),
                &whose,
                told,
            ));
        }
        for (i, rule) in rules.iter().enumerate().take(MAX_PAIRED_RULES) {
            for (j, other) in rules.iter().enumerate().take(i) {
                if !rule.pattern.overlaps(&other.pattern) || other.pattern.matches(rule.pattern.text()) {
                    continue;
                }
                let both = format!(" where {} and {} meet", other.pattern.text(), rule.pattern.text());
                let met = conflicting_limits(
                    &self.cascade_with_rules(upstream, &rules[..j], &[other, rule]),
                    &both,
                    told,
                );
                reading.warnings.extend(met.into_iter().map(|problem| Problem {
                    fix: format!("{}; until then limits of the latter are left aside there", problem.fix),
                    ..problem
                }));
            }
        }
    }

    /// What rules decide, with all that is in force for whatever the last of them matches.
    fn cascade_with_rules<'a>(
        &'a self,
        upstream: Option<&str>,
        wider: &[&'a PatternRule],
        rules: &[&'a PatternRule],
    ) -> Cascade<'a> {
        let mut cascade = self.base_cascade(upstream);
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

fn conflicting_limits(cascade: &Cascade<'_>, whose: &str, told: &mut ReportedConflicts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for fault in cascade.limit_overrides().resolve(ClientLimits::UNKNOWN).violations() {
        // Each value alone was checked where it was read.
        let PolicyError::Contradictory { lower, low, upper, high } = fault else { continue };
        let (lower, lower_at) = key_and_origin(cascade, lower);
        let (upper, upper_at) = key_and_origin(cascade, upper);
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
fn duplicate_tool_names(cascade: &Cascade<'_>) -> Vec<Problem> {
    let listing = cascade.listing();
    let tools = [
        ("readTool", Some(&listing.read_tool)),
        ("queryTool", listing.query_tool.as_ref()),
        ("describeTool", Some(&listing.describe_tool)),
    ];
    let mut problems = Vec::new();
    for (i, (key, name)) in tools.iter().enumerate() {
        for (other, _) in tools[..i].iter().filter(|(_, known)| known.is_some() && known == name) {
            let (_, one) = key_and_origin(cascade, key);
            let (_, two) = key_and_origin(cascade, other);
            let message = format!("{other} and {key} have the same name");
            problems.push(Problem::new(one.max(two), message, "name them differently"));
        }
    }
    problems
}

/// The key as it was written, and where.
fn key_and_origin(cascade: &Cascade<'_>, slot: &'static str) -> (&'static str, Origin) {
    match cascade.get(slot) {
        Some((set, _)) => (set.key.name, set.origin.clone()),
        None => (slot, cascade.default_origin(slot)),
    }
}

impl Cascade<'_> {
    /// Where the value comes from of a limit that nobody wrote.
    pub(crate) fn default_origin(&self, slot: &str) -> Origin {
        let Some((profile, _)) = self.get("profile") else { return Origin::Default };
        let mut given = self.limit_overrides();
        let limit = |policy: &Policy| defaults::policy_limit(policy, slot);
        let profiled = limit(&given.resolve(ClientLimits::UNKNOWN));
        given.profile = PolicyProfile::Default;
        match profile.value {
            Value::Choice(name) if limit(&given.resolve(ClientLimits::UNKNOWN)) != profiled => {
                Origin::Profile(name)
            }
            _ => Origin::Default,
        }
    }
}
