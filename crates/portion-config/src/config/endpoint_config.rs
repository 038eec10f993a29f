//! Converts the settings in force into limits and options for replies. This is the only place that
//! interprets keys of endpoints.

use std::sync::Arc;
use std::time::Duration;

use portion_core::missing_codes::MissingCodes;
use portion_core::policy::{
    EnvelopeMode, LimitOverrides, MetadataMode, MetadataStyle, NamedSection, PolicyProfile, RenderOptions,
    StripRule, Techniques,
};
use portion_core::redact::RedactionRules;
use portion_policy::endpoint::{AdvertisePolicy, EndpointConfig, Experiment, ListingOptions, Rollout};
use portion_policy::pushdown::Pushdown;
use portion_text::names::split_name;
use portion_tokens::Factor;

use super::Cascade;
use super::cascade::TypedValues as _;
use crate::value::Value;

impl Cascade<'_> {
    /// Returns the configuration of the endpoint.
    pub(super) fn endpoint_config(&self) -> EndpointConfig {
        EndpointConfig {
            limits: self.limit_overrides(),
            tokenizer: self.choice("tokenizer").and_then(|name| name.parse().ok()).unwrap_or_default(),
            tokenizer_factor: self.number("tokenizerFactor").and_then(Factor::from_f64).unwrap_or_default(),
            preset: self.choice("preset").and_then(|name| name.parse().ok()).unwrap_or_default(),
            redact: self.redact(),
            controls: self.boolean("controls"),
            reuse: self.boolean("reuse"),
            read: self.boolean("read") == Some(true),
            pushdown: self.pushdown(),
            refuses_oversized: self.choice("oversized") == Some("refuse"),
            rollout: self.rollout(),
            experiment: self.experiment(),
            unshaped_byte_limit: self.size("unshapedByteLimit"),
            allow_whole: self.boolean("allowWhole") == Some(true),
            request_timeout: match self.value("requestTimeout") {
                Some(Value::Duration(time)) => Some(*time),
                Some(_) => None,
                None => Some(Duration::from_mins(10)),
            },
            session_budget: self.integer("sessionBudget"),
            dry_run: self.boolean("dryRun") == Some(true),
            accuracy_sample: self.number("accuracySample"),
        }
    }

    /// Returns the limits.
    pub(super) fn limit_overrides(&self) -> LimitOverrides {
        LimitOverrides {
            profile: self.profile(),
            render_options: self.render_options(),
            ..LimitOverrides::from_values(|key| self.limit_value(key))
        }
    }

    /// Returns the profile, which applies where no limit is configured.
    pub(crate) fn profile(&self) -> PolicyProfile {
        self.choice("profile").and_then(PolicyProfile::from_name).unwrap_or_default()
    }

    fn render_options(&self) -> RenderOptions {
        let on = |key| self.boolean(key).unwrap_or(true);
        RenderOptions {
            techniques: Techniques {
                pagination: on("pagination"),
                summarization: on("summarization"),
                chunking: on("chunking"),
                query: on("query"),
            },
            is_compact: self.choice("compact") == Some("always"),
            metadata: self.choice("metadata").and_then(MetadataMode::from_name).unwrap_or_default(),
            metadata_style: self
                .choice("metadataStyle")
                .and_then(MetadataStyle::from_name)
                .unwrap_or_default(),
            envelope: self.choice("envelope").and_then(EnvelopeMode::from_name).unwrap_or_default(),
            list_path: self.text("items").map(Arc::from),
            summary_fields: in_both_spellings(&self.names("summaryFields").unwrap_or_default()).into(),
            summary_only: self.boolean("summaryOnly") == Some(true),
            sections: self.sections(),
            default_sort: self.text("sort").map(Arc::from),
            strip_rule: self.strip_rule(),
            missing_codes: self.missing_codes(),
            has_fixed_page_size: self.integer("defaultPageSize").is_some(),
            ..RenderOptions::default()
        }
    }

    fn sections(&self) -> Arc<[NamedSection]> {
        match self.value("sections") {
            Some(Value::Sections(sections)) => sections
                .iter()
                .map(|(name, fields)| NamedSection { name: name.clone(), fields: in_both_spellings(fields) })
                .collect(),
            _ => Arc::default(),
        }
    }

    fn missing_codes(&self) -> MissingCodes {
        let names = self.names("missingValues").unwrap_or_default();
        MissingCodes::parse(names.iter().map(String::as_str)).unwrap_or_default()
    }

    fn strip_rule(&self) -> StripRule {
        if self.choice("mode") == Some("development") {
            return StripRule::none();
        }
        match self.value("stripFields") {
            Some(Value::Names(names)) => StripRule::from_names(names.iter().cloned()),
            Some(Value::Choice("none")) => StripRule::none(),
            _ => StripRule::default_noise(),
        }
    }

    /// Returns the configured redaction, or that of secrets if none is configured and the profile is
    /// lean.
    fn redact(&self) -> Option<Arc<RedactionRules>> {
        match self.value("redact") {
            Some(Value::Names(names)) if !names.is_empty() => Some(Arc::new(
                RedactionRules::parse(&names.join(",")).unwrap_or_else(|_| RedactionRules::default_secrets()),
            )),
            None if self.profile() == PolicyProfile::Lean => {
                Some(Arc::new(RedactionRules::default_secrets()))
            }
            _ => None,
        }
    }

    fn pushdown(&self) -> Option<Arc<Pushdown>> {
        match self.value("pushdown") {
            Some(Value::Pushdown(settings)) => Pushdown::from_settings(settings).ok().map(Arc::new),
            _ => None,
        }
    }

    fn rollout(&self) -> Rollout {
        match self.get("rollout").map(|(set, salt)| (&set.value, salt)) {
            Some((Value::Number(percent), salt)) => Rollout { percent: *percent, salt: Arc::clone(salt) },
            _ => Rollout::default(),
        }
    }

    fn experiment(&self) -> Experiment {
        match self.get("experiment").map(|(set, salt)| (&set.value, salt)) {
            Some((Value::Split(percent), salt)) => {
                Experiment::Split(Rollout { percent: *percent, salt: Arc::clone(salt) })
            }
            Some((Value::Choice("shadow"), _)) => Experiment::Shadow,
            _ => Experiment::None,
        }
    }

    /// Returns the options for listing tools.
    pub(super) fn listing(&self) -> ListingOptions {
        let defaults = ListingOptions::default();
        ListingOptions {
            style: self.choice("catalog").and_then(|name| name.parse().ok()).unwrap_or(defaults.style),
            read_tool: self.text("readTool").map_or(defaults.read_tool, str::to_owned),
            query_tool: self.name_or_none("queryTool", defaults.query_tool),
            query_argument: self.name_or_none("queryArgument", defaults.query_argument),
            describe_tool: self.text("describeTool").map_or(defaults.describe_tool, str::to_owned),
            advertise: self.advertise(),
            ..defaults
        }
    }

    /// Returns a name that may be set to `none`.
    fn name_or_none(&self, key: &str, default: Option<String>) -> Option<String> {
        match self.value(key) {
            Some(Value::Text(name)) => Some(name.clone()),
            Some(_) => None,
            None => default,
        }
    }

    /// Returns the tools that are listed with Portion's controls.
    fn advertise(&self) -> AdvertisePolicy {
        match self.value("advertise") {
            Some(Value::Names(names)) => AdvertisePolicy::Named(names.clone()),
            Some(Value::Choice("all")) => AdvertisePolicy::All,
            Some(Value::Choice("none")) => AdvertisePolicy::None,
            _ => AdvertisePolicy::Lists,
        }
    }
}

/// Returns dotted paths, each followed by itself in the other spelling of its words: `guestName` is `guest_name`, too.
fn in_both_spellings(paths: &[String]) -> Vec<String> {
    let respelled = |step: &str| {
        let words = split_name(step);
        let is_snake = words.join("_") == step;
        if is_snake && words.len() > 1 {
            let rest = words[1..].iter().flat_map(|word| {
                word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1))
            });
            words[0].chars().chain(rest).collect()
        } else if step.chars().all(char::is_alphanumeric) {
            words.join("_")
        } else {
            step.to_owned()
        }
    };
    let mut both = Vec::with_capacity(2 * paths.len());
    for path in paths {
        let other = path.split('.').map(respelled).collect::<Vec<_>>().join(".");
        both.push(path.clone());
        both.extend(Some(other).filter(|other| other != path));
    }
    both
}

#[cfg(test)]
mod tests {
    use super::in_both_spellings;

    #[test]
    fn paths_are_known_in_both_spellings() {
        let given = ["id", "guestName", "check_in_date", "price.basePrice", "a b", "é_ü"].map(str::to_owned);
        let expect = [
            "id",
            "guestName",
            "guest_name",
            "check_in_date",
            "checkInDate",
            "price.basePrice",
            "price.base_price",
            "a b",
            "é_ü",
            "éÜ",
        ];
        assert_eq!(in_both_spellings(&given), expect);
    }
}
