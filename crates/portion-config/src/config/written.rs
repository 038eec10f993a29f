//! What the settings in force mean: the one place where keys become limits and the manner of replies.

use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::{
    Envelope, Fill, Given, Manner, Metadata, MetadataStyle, Profile, Rows, Section, Strategy, Strip,
    Techniques,
};
use portion_core::redact::Redact;
use portion_core::tokens::Factor;
use portion_gateway::book::{Experiment, Rollout, Written};
use portion_gateway::mcp::{Advertise, Listing};

use super::Cascade;
use crate::value::Value;

impl Cascade<'_> {
    /// What is obeyed.
    pub(super) fn written(&self) -> Written {
        Written {
            limits: self.given(),
            tokenizer: self.word("tokenizer").and_then(|name| name.parse().ok()).unwrap_or_default(),
            tokenizer_factor: self.number("tokenizerFactor").and_then(Factor::of).unwrap_or_default(),
            preset: self.word("preset").and_then(|name| name.parse().ok()).unwrap_or_default(),
            redact: self.redact(),
            controls: self.truth("controls"),
            reuse: self.truth("reuse"),
            rollout: self.rollout(),
            experiment: self.experiment(),
            unshaped_byte_limit: self.size("unshapedByteLimit"),
            allow_whole: self.truth("allowWhole") == Some(true),
            request_timeout: match self.value("requestTimeout") {
                Some(Value::Time(time)) => Some(*time),
                Some(_) => None,
                None => Some(Duration::from_mins(10)),
            },
            session_budget: self.whole("sessionBudget"),
            dry_run: self.truth("dryRun") == Some(true),
            accuracy_sample: self.number("accuracySample"),
        }
    }

    /// The limits.
    pub(super) fn given(&self) -> Given {
        Given {
            token_budget_threshold: self.whole("tokenBudgetThreshold"),
            reply_target: self.whole("replyTarget"),
            hard_cap: self.whole("hardCap"),
            hard_byte_limit: self.size("hardByteLimit"),
            fallback_byte_limit: self.size("fallbackByteLimit"),
            media_byte_limit: self.size("mediaByteLimit"),
            media_tokens: self.whole("mediaTokens"),
            full_below: self.whole("fullBelow"),
            default_page_size: self.whole("defaultPageSize"),
            max_page_size: self.whole("maxPageSize"),
            summarize_above: self.whole("summarizeAbove"),
            chunk_above: self.whole("chunkAbove"),
            chunk_size: self.whole("chunkSize"),
            chunk_lines: self.whole("chunkLines"),
            warn_at: self.number("warnAt"),
            rows: self.word("rows").map(|word| if word == "auto" { Rows::Auto } else { Rows::Objects }),
            strategy: self.word("strategy").map(|word| match word {
                "plain" => Strategy::Plain,
                "ranked" => Strategy::Ranked,
                _ => Strategy::Auto,
            }),
            fill: self.word("fill").map(|word| match word {
                "skip" => Fill::Skip,
                "value" => Fill::Value,
                _ => Fill::Stop,
            }),
            profile: self.profile(),
            manner: self.manner(),
        }
    }

    /// What is in force where nothing more precise was written.
    pub(crate) fn profile(&self) -> Profile {
        match self.word("profile") {
            Some("lean") => Profile::Lean,
            Some("soft") => Profile::Soft,
            _ => Profile::Default,
        }
    }

    fn manner(&self) -> Manner {
        let on = |key| self.truth(key).unwrap_or(true);
        Manner {
            techniques: Techniques {
                pagination: on("pagination"),
                summarization: on("summarization"),
                chunking: on("chunking"),
                query: on("query"),
            },
            metadata: if self.word("metadata") == Some("always") {
                Metadata::Always
            } else {
                Metadata::WhenShaped
            },
            metadata_style: match self.word("metadataStyle") {
                Some("snake") => MetadataStyle::Snake,
                _ => MetadataStyle::Camel,
            },
            envelope: if self.word("envelope") == Some("wrap") { Envelope::Wrap } else { Envelope::Auto },
            items: self.text("items").map(Arc::from),
            summary_fields: self.names("summaryFields").unwrap_or_default().into(),
            sections: self.sections(),
            sort: self.text("sort").map(Arc::from),
            strip: self.strip(),
            fixed_pages: self.whole("defaultPageSize").is_some(),
            ..Manner::default()
        }
    }

    fn sections(&self) -> Arc<[Section]> {
        match self.value("sections") {
            Some(Value::Sections(sections)) => sections
                .iter()
                .map(|(name, fields)| Section { name: name.clone(), fields: fields.clone() })
                .collect(),
            _ => Arc::default(),
        }
    }

    fn strip(&self) -> Strip {
        if self.word("mode") == Some("development") {
            return Strip::nothing();
        }
        match self.value("stripFields") {
            Some(Value::Names(names)) => Strip::of(names.iter().cloned()),
            Some(Value::Word("none")) => Strip::nothing(),
            _ => Strip::noise(),
        }
    }

    /// What was asked for, or secrets where nothing was and replies are to be lean.
    fn redact(&self) -> Option<Arc<Redact>> {
        match self.value("redact") {
            Some(Value::Names(names)) if !names.is_empty() => {
                Some(Arc::new(Redact::parse(&names.join(",")).unwrap_or_else(|_| Redact::default_secrets())))
            }
            None if self.profile() == Profile::Lean => Some(Arc::new(Redact::default_secrets())),
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
            Some((Value::Word("shadow"), _)) => Experiment::Shadow,
            _ => Experiment::None,
        }
    }

    /// How tools are listed.
    pub(super) fn listing(&self) -> Listing {
        let usual = Listing::default();
        Listing {
            style: self.word("catalog").and_then(|name| name.parse().ok()).unwrap_or(usual.style),
            read_tool: self.text("readTool").map_or(usual.read_tool, str::to_owned),
            query_tool: match self.value("queryTool") {
                Some(Value::Text(name)) => Some(name.clone()),
                Some(_) => None,
                None => usual.query_tool,
            },
            describe_tool: self.text("describeTool").map_or(usual.describe_tool, str::to_owned),
            advertise: self.advertise(),
        }
    }

    /// Which tools are listed with our controls.
    fn advertise(&self) -> Advertise {
        match self.value("advertise") {
            Some(Value::Names(names)) => Advertise::Named(names.clone()),
            Some(Value::Word("all")) => Advertise::All,
            Some(Value::Word("none")) => Advertise::None,
            _ => Advertise::Lists,
        }
    }
}
