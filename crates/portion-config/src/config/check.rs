//! Checks settings that depend on each other: limits that contradict each other, for everything and for
//! each pattern.

use std::collections::BTreeSet;

use portion_core::missing_codes::MissingCodes;
use portion_core::policy::{ClientLimits, Policy, PolicyError, PolicyProfile};
use portion_policy::upstream::UpstreamTarget;

use super::{Cascade, Config, OtlpTarget, PatternRule, cascade};
use crate::read::ConfigReader;
use crate::settings::{Origin, Problem, Settings};
use crate::value::Value;

/// Two keys with the origins of their values: a conflict is reported once, not for each pattern that
/// inherits it.
type ReportedConflicts = BTreeSet<(&'static str, Origin, &'static str, Origin)>;

/// Maximum rules that are checked in pairs; further ones are checked only alone.
const MAX_PAIRED_RULES: usize = 200;

impl Config {
    pub(super) fn check(&self, reader: &mut ConfigReader) {
        let mut reported = ReportedConflicts::new();
        let general = self.base_cascade(None);
        reader.problems.extend(conflicting_limits(&general, "", &mut reported));
        reader.problems.extend(duplicate_tool_names(&general));
        self.check_rules(None, &self.rules, &mut reported, reader);
        reader.problems.extend(self.invalid_otlp_url());
        reader.problems.extend(self.invalid_principal_header());
        reader.problems.extend(self.missing_cursor_keys());
        reader.problems.extend(self.invalid_missing_values());
        for upstream in &self.upstreams {
            let name = Some(&*upstream.name);
            let general = self.base_cascade(name);
            reader.problems.extend(conflicting_limits(
                &general,
                &format!(" for the upstream {}", upstream.name),
                &mut reported,
            ));
            reader.problems.extend(duplicate_tool_names(&general));
            self.check_rules(name, &upstream.rules, &mut reported, reader);
        }
    }

    /// Finds an invalid URL for metrics. A URL with references that were not followed cannot be checked.
    fn invalid_otlp_url(&self) -> Option<Problem> {
        let OtlpTarget::Collector(url) = self.otlp() else { return None };
        let set = self.top.get("otlp").filter(|_| !url.contains('$') && UpstreamTarget::new(url).is_err())?;
        let fix = "write the whole URL of a collector, such as http://127.0.0.1:4318";
        Some(Problem::new(set.origin.clone(), "otlp is not a URL", fix))
    }

    /// Finds a shared store without keys: each instance would refuse the cursors of the others.
    fn missing_cursor_keys(&self) -> Option<Problem> {
        let set = self.top.get("store").filter(|_| self.shared_store().is_some())?;
        let fix = "name a file by --cursor-keys, PORTION_CURSOR_KEYS or cursorKeys; make a key by: \
                   openssl rand -base64 32 > cursor.keys";
        let message =
            "store needs cursorKeys: all instances that share a store sign cursors with the same key";
        self.cursor_keys().is_none().then(|| Problem::new(set.origin.clone(), message, fix))
    }

    /// Finds entries of `missingValues` that are no codes.
    fn invalid_missing_values(&self) -> Vec<Problem> {
        let of_servers = self.upstreams.iter().flat_map(|upstream| upstream.rules.iter());
        let rules = self.rules.iter().chain(of_servers).map(|rule| &rule.settings);
        let invalid = |settings: &Settings| {
            let set = settings.get("missingValues")?;
            let Value::Names(names) = &set.value else { return None };
            let error = MissingCodes::parse(names.iter().map(String::as_str)).err()?;
            let fix = "write each number with its meaning, such as \"-1=missing\"";
            Some(Problem::new(set.origin.clone(), format!("missingValues: {error}"), fix))
        };
        std::iter::once(&self.top).chain(rules).filter_map(invalid).collect()
    }

    /// Finds an invalid header name in `principalHeaders`, which could never identify a caller.
    fn invalid_principal_header(&self) -> Option<Problem> {
        let token = |name: &String| {
            let odd = |byte: u8| !byte.is_ascii_alphanumeric() && !b"!#$%&'*+-.^_`|~".contains(&byte);
            !name.is_empty() && !name.bytes().any(odd)
        };
        let names = self.principal_headers()?;
        let set = self.top.get("principalHeaders")?;
        let fix = "list header names, such as Authorization and X-API-Key";
        if names.is_empty() {
            return Some(Problem::new(set.origin.clone(), "principalHeaders is empty", fix));
        }
        let odd = names.iter().find(|name| !token(name))?;
        let message = format!("principalHeaders has `{odd}`, which is not a header name");
        Some(Problem::new(set.origin.clone(), message, fix))
    }

    fn check_rules(
        &self,
        upstream: Option<&str>,
        rules: &[PatternRule],
        reported: &mut ReportedConflicts,
        reader: &mut ConfigReader,
    ) {
        let rules: Vec<&PatternRule> =
            rules.iter().filter(|rule| cascade::has_limits(&rule.settings)).collect();
        for (i, rule) in rules.iter().enumerate() {
            let scope = format!(" for the endpoint {}", rule.pattern.text());
            reader.problems.extend(conflicting_limits(
                &self.cascade_with_rules(upstream, &rules[..i], &[rule]),
                &scope,
                reported,
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
                    reported,
                );
                reader.warnings.extend(met.into_iter().map(|problem| Problem {
                    fix: format!("{}; until then, the limits of the second are ignored there", problem.fix),
                    ..problem
                }));
            }
        }
    }

    /// Returns the settings of the given rules, with everything else in force for the endpoints that
    /// match the last one.
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
        // A pattern that matches the text of another pattern matches everything that the other one does.
        let covering = rules.last().map(|last| all(last.pattern.text())).unwrap_or_default();
        for rule in covering.into_iter().chain(rules.iter().copied()) {
            cascade.overlay(&rule.settings, &rule.salt);
        }
        cascade
    }
}

fn conflicting_limits(cascade: &Cascade<'_>, scope: &str, reported: &mut ReportedConflicts) -> Vec<Problem> {
    let mut problems = Vec::new();
    for fault in cascade.limit_overrides().resolve(ClientLimits::UNKNOWN).violations() {
        // Single values were checked when they were read.
        let PolicyError::Contradictory { lower, low, upper, high } = fault else { continue };
        let (lower, lower_at) = key_and_origin(cascade, lower);
        let (upper, upper_at) = key_and_origin(cascade, upper);
        if !reported.insert((lower, lower_at.clone(), upper, upper_at.clone())) {
            continue;
        }
        let fix = format!("raise {upper} or lower {lower}");
        problems.push(if lower_at > upper_at {
            let message = format!("{lower} is {low}{scope}, above {upper}, which is {high} ({upper_at})");
            Problem::new(lower_at, message, fix)
        } else {
            let message = format!("{upper} is {high}{scope}, below {lower}, which is {low} ({lower_at})");
            Problem::new(upper_at, message, fix)
        });
    }
    problems
}

/// Portion's own tools must have different names.
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

/// Returns the key as written, and its origin.
fn key_and_origin(cascade: &Cascade<'_>, slot: &'static str) -> (&'static str, Origin) {
    match cascade.get(slot) {
        Some((set, _)) => (set.key.name, set.origin.clone()),
        None => (slot, cascade.default_origin(slot)),
    }
}

impl Cascade<'_> {
    /// Returns the origin of a limit that was not configured.
    pub(crate) fn default_origin(&self, slot: &str) -> Origin {
        let Some((profile, _)) = self.get("profile") else { return Origin::Default };
        let mut given = self.limit_overrides();
        let limit = |policy: &Policy| policy.limit(slot);
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
