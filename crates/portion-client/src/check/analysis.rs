//! Collects what a result shows, also signs that its server has cut it, and estimates what it costs a model, with
//! and without Portion.

use std::fmt;

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_core::render::{Context, FirstReply, PieceBody, first_reply};
use portion_core::snapshot::{FieldRank, ListProfile, Structure, capture};
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;
use serde_json::Value;

use super::observation::{Observation, PageFacts};
use super::write::Proposal;
use crate::check::paging::Paging;
use crate::check::tool::{ReadEvidence, Tool};

/// Fields that are proposed for summaries.
const MAX_SUMMARY_FIELDS: usize = 8;

/// Records with at most this number of fields need no summary.
const MIN_FIELDS: usize = 10;

/// Tokens of a result below which no summary fields are proposed.
const MIN_TOKENS: usize = 2_000;

/// Characters at the end of a text that are searched for a remark.
const TAIL_CHARS: usize = 400;

/// Remarks of servers that cut their results, in lower case.
const REMARKS: &[&str] = &[
    "truncated",
    "truncation",
    "omitted for brevity",
    "output limit",
    "response too long",
    "response too large",
    "character limit",
    "characters omitted",
    "characters remaining",
    "content exceeds",
    "results shortened",
    "cut off",
];

/// Names of members that say that a result is not complete.
const FLAGS: &[&str] = &["truncated", "is_truncated", "isTruncated", "output_truncated", "wasTruncated"];

/// Length from which a round number of characters is a sign.
const MIN_ROUND_LENGTH: usize = 4_000;

/// Findings about a tool, from its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name of the tool.
    pub tool: String,
    /// Number of items of the list and its JSON Pointer, if there is a list.
    pub list: Option<(usize, String)>,
    /// Names of the members beside the list.
    pub envelope: Vec<String>,
    /// Paging of the tool's own.
    pub paging: Option<Paging>,
    /// True if there are more items, but no argument that reaches them is known.
    pub is_rest_unreachable: bool,
    /// Sign that the server has cut the result.
    pub truncation: Option<Truncation>,
    /// Paths of secrets in the result, without their values.
    pub secrets: Vec<String>,
    /// Tokens.
    pub estimate: Estimate,
    /// Proposed settings.
    pub proposal: Proposal,
}

/// Collects what the first result of a tool shows. `paging`: the outcome of the check of its paging.
pub fn analyze(tool: &Tool, first: &Observation, paging: Option<Paging>) -> Finding {
    let estimate = Estimate::of(first);
    let (truncation, secrets) = (Truncation::find(&first.data, first.json.as_ref()), find_secrets(first));
    let facts = PageFacts::read(first);
    let summary_fields =
        if estimate.direct < MIN_TOKENS { Vec::new() } else { summary_fields(first, &secrets) };
    let proposal = Proposal {
        tool: tool.name.clone(),
        // Without it, Portion does not call the tool again.
        read: paging.is_some() && tool.reads != Ok(ReadEvidence::Annotation),
        pushdown: paging.as_ref().map(|paging| paging.settings.clone()).unwrap_or_default(),
        redact_secrets: !secrets.is_empty(),
        summary_fields,
    };
    Finding {
        tool: tool.name.clone(),
        list: first.list_pointer().map(|pointer| (first.items().len(), pointer.to_owned())),
        envelope: envelope(first),
        is_rest_unreachable: paging.is_none() && facts.has_more_than(first.items().len()),
        paging,
        truncation,
        secrets,
        estimate,
        proposal,
    }
}

/// Returns the names of the members beside the list.
fn envelope(observation: &Observation) -> Vec<String> {
    let Some(pointer) = observation.list_pointer().filter(|pointer| !pointer.is_empty()) else {
        return Vec::new();
    };
    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let members = observation.json.as_ref().and_then(|json| json.pointer(parent)).and_then(Value::as_object);
    members.into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn find_secrets(observation: &Observation) -> Vec<String> {
    RedactionRules::default_secrets().redact(&observation.data).map_or_else(Vec::new, |(_, names)| names)
}

/// Returns the fields that tell most about a record.
fn summary_fields(observation: &Observation, secrets: &[String]) -> Vec<String> {
    let snapshot = capture(observation.payload());
    let Some(indexed) = snapshot.main_text() else { return Vec::new() };
    let fields = match &indexed.structure {
        Structure::List(list) => list.profile.fields.clone(),
        Structure::Object(_) => ListProfile::record_fields(indexed.span().slice(&indexed.text)),
        Structure::Text(_) => return Vec::new(),
    };
    if fields.len() < MIN_FIELDS {
        return Vec::new();
    }
    let is_secret =
        |path: &str| secrets.iter().any(|secret| secret == path || secret.ends_with(&format!(".{path}")));
    let telling =
        fields.into_iter().filter(|field| field.rank <= FieldRank::Important && !is_secret(&field.path));
    telling.take(MAX_SUMMARY_FIELDS).map(|field| field.path).collect()
}

/// Tokens of a result, by [`Tokenizer::MEASURE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// As the server returned it.
    pub direct: usize,
    /// As Portion serves it, with the default limits.
    pub portion: usize,
}

impl Estimate {
    /// Measures a result.
    pub fn of(observation: &Observation) -> Self {
        let count = |text: &str| Tokenizer::MEASURE.counter().count(text);
        let direct = observation.shown().into_iter().map(count).sum();
        let policy = Policy::default();
        let snapshot = capture(observation.payload());
        let Ok(resolved) = resolve(&snapshot, None, &Request::default(), &policy) else {
            return Self { direct, portion: direct };
        };
        // These cursors lead nowhere: they are a part of the cost.
        let (keyring, scope) = (Keyring::new(&[0; 32]), Scope::from_principal("check"));
        let mint = |position: Position| {
            Some(keyring.sign(&CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position }, &scope))
        };
        let context = Context {
            policy: &policy,
            counter: Tokenizer::default().counter(),
            issue_cursor: &mint,
            read_call: "portion_read".into(),
            query_tool: Some("portion_query"),
            read_uri: None,
        };
        let portion = match first_reply(&snapshot, &resolved, &context) {
            FirstReply::Untouched { .. } => direct,
            FirstReply::Portion(portion) => {
                let texts = portion.pieces().iter().filter_map(|piece| match &piece.body {
                    PieceBody::Text(text) => Some(text.as_str()),
                    PieceBody::Block(_) | PieceBody::Base64(_) => None,
                });
                let texts: usize = texts.chain(portion.separate_notice()).map(count).sum();
                texts.max(portion.structured().map_or(0, count)).min(direct)
            }
        };
        Self { direct, portion }
    }

    /// Returns the saved share in percent.
    pub fn saved_percent(self) -> usize {
        self.direct.saturating_sub(self.portion) * 100 / self.direct.max(1)
    }
}

/// A sign that a server has cut its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// The text is JSON without its end.
    InsideJson {
        /// Length of the text in characters.
        chars: usize,
    },
    /// The text ends with a remark.
    Remark {
        /// The word that says so.
        word: &'static str,
        /// Length of the text in characters.
        chars: usize,
    },
    /// A member is true.
    Flag {
        /// JSON Pointer of the member.
        pointer: String,
    },
    /// The length is a round number, and the text does not end like one.
    RoundLength {
        /// Length of the text in characters.
        chars: usize,
    },
}

impl Truncation {
    /// Finds a sign in a text. `json`: the text as JSON, if it is JSON.
    pub(crate) fn find(text: &str, json: Option<&Value>) -> Option<Self> {
        let chars = text.chars().count();
        if let Some(json) = json {
            return find_flag(json);
        }
        let remark = remark_at_end(text, chars);
        if let Some(word) = remark {
            return Some(Self::Remark { word, chars });
        }
        let begins_json = text.trim_start().starts_with(['{', '[']);
        let parsed = serde_json::from_str::<Value>(text);
        if begins_json && parsed.is_err_and(|error| error.is_eof()) {
            return Some(Self::InsideJson { chars });
        }
        let is_round = chars >= MIN_ROUND_LENGTH && (chars.is_multiple_of(1_000) || chars.is_power_of_two());
        let ends =
            text.trim_end().ends_with(['.', '!', '?', '}', ']', ')', '`', '>', '|']) || text.ends_with('\n');
        (is_round && !ends).then_some(Self::RoundLength { chars })
    }
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsideJson { chars } => write!(f, "the JSON ends after {chars} characters, before its end"),
            Self::Remark { word, chars } => {
                write!(f, "the end of the text ({chars} characters) says \"{word}\"")
            }
            Self::Flag { pointer } => write!(f, "{pointer} is true"),
            Self::RoundLength { chars } => {
                write!(f, "the text ends after exactly {chars} characters, within a sentence")
            }
        }
    }
}

fn remark_at_end(text: &str, chars: usize) -> Option<&'static str> {
    let tail: String = text.chars().skip(chars.saturating_sub(TAIL_CHARS)).collect();
    let tail = tail.to_lowercase();
    REMARKS.iter().find(|remark| tail.contains(*remark)).copied()
}

/// Finds a member that says so, at the root or in an object of it.
fn find_flag(json: &Value) -> Option<Truncation> {
    let root = json.as_object()?;
    let is_flag = |name: &str, value: &Value| FLAGS.contains(&name) && *value == Value::Bool(true);
    root.iter().find_map(|(name, value)| {
        if is_flag(name, value) {
            return Some(Truncation::Flag { pointer: format!("/{name}") });
        }
        let inner = value.as_object()?.iter().find(|(name, value)| is_flag(name, value))?;
        Some(Truncation::Flag { pointer: format!("/{name}/{}", inner.0) })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Truncation, analyze};
    use crate::check::observation::Observation;
    use crate::check::paging::{PagingCheck, Step};
    use crate::check::tool::Tool;

    fn tool() -> Tool {
        Tool::parse(&json!({"name": "search_bookings"})).expect("a tool")
    }

    fn bookings(count: usize) -> Value {
        let rows = (0..count).map(|number| {
            json!({
                "id": number, "status": "confirmed", "guestName": format!("Guest {number}"), "arrivalDate": "2026-01-02",
                "departureDate": "2026-01-05", "totalPrice": 300 + number, "listingName": "Villa", "doorCode": "1234",
                "hostNote": null, "comment": "Late arrival, please leave the key.", "nights": 3, "currency": "EUR",
            })
        });
        json!({"status": "success", "result": rows.collect::<Vec<_>>(), "count": 500})
    }

    #[test]
    fn a_long_list_is_described() {
        let first = Observation::of_text(&bookings(100).to_string());
        let finding = analyze(&tool(), &first, None);
        assert_eq!(finding.list, Some((100, "/result".to_owned())));
        assert_eq!(finding.envelope, ["status", "result", "count"]);
        assert!(finding.is_rest_unreachable);
        assert_eq!(finding.secrets, ["result.doorCode"]);
        assert!(finding.proposal.redact_secrets && !finding.proposal.read);
        let fields = &finding.proposal.summary_fields;
        assert!(fields.contains(&"id".to_owned()) && !fields.iter().any(|name| name.contains("doorCode")));
        assert!(finding.estimate.portion < finding.estimate.direct / 2, "{:?}", finding.estimate);
    }

    #[test]
    fn structured_content_beside_a_line_of_text_counts() {
        let result = json!({"content": [{"type": "text", "text": "100 bookings"}], "structuredContent": bookings(100)});
        let estimate = analyze(&tool(), &Observation::from_result(&result), None).estimate;
        assert!(estimate.direct > 5_000 && estimate.portion < estimate.direct / 2, "{estimate:?}");
        assert!(estimate.portion > 500, "{estimate:?}");
    }

    #[test]
    fn small_results_need_nothing() {
        let first = Observation::of_text("{\"ok\":true}");
        let finding = analyze(&tool(), &first, None);
        assert!(finding.proposal.is_empty() && finding.list.is_none() && finding.envelope.is_empty());
        assert_eq!(finding.estimate.saved_percent(), 0);
    }

    #[test]
    fn a_tool_that_reads_by_its_name_is_declared_to() {
        let listed = json!({"name": "search_bookings", "inputSchema": {"properties": {"offset": {}}}});
        let tool = Tool::parse(&listed).expect("a tool");
        let first = Observation::of_text("{\"result\":[{\"id\":1}],\"count\":9,\"offset\":0}");
        let Step::Found(paging) = PagingCheck::new(&tool, Map::new(), first.clone()).step() else {
            panic!("no paging");
        };
        assert!(analyze(&tool, &first, Some(paging)).proposal.read);
    }

    #[expect(clippy::needless_pass_by_value, reason = "a table of expected values")]
    fn check(text: &str, expect: Option<Truncation>) {
        let json = serde_json::from_str(text).ok();
        assert_eq!(Truncation::find(text, json.as_ref()), expect, "{} characters", text.len());
    }

    #[test]
    fn cut_results_are_recognized() {
        check(r#"[{"id":1},{"id":2"#, Some(Truncation::InsideJson { chars: 17 }));
        let cut = format!("{}\n... [Response truncated at 25000 characters]", "x".repeat(25_000));
        check(&cut, Some(Truncation::Remark { word: "truncated", chars: 25_045 }));
        check(
            r#"{"items":[],"meta":{"truncated":true}}"#,
            Some(Truncation::Flag { pointer: "/meta/truncated".into() }),
        );
        check(&"word ".repeat(5_000)[..24_999], None);
        check(&"words ".repeat(5_000)[..25_000], Some(Truncation::RoundLength { chars: 25_000 }));
    }

    #[test]
    fn whole_results_are_not() {
        check("[1,2]", None);
        check(r#"{"truncated":false,"text":"the list was truncated"}"#, None);
        check("A line about a door.\n", None);
        check("[note] a text in brackets", None);
        check("", None);
    }
}
