//! Hides values that no client may see: passwords, tokens, door codes.
//!
//! Values are selected by the names of members, columns and settings, before a payload is indexed, so nothing that is
//! made from a snapshot contains them. A string becomes `"[redacted]"`. No value changes its type, so a value of
//! another type is removed together with its key, except `null`. All other bytes stay the same.
//!
//! ```
//! use portion_redact::RedactionRules;
//!
//! let rules = RedactionRules::parse("secrets, guest.phone")?;
//! let (shown, hidden) = rules.redact(r#"{"password":"hunter2","guest":{"phone":"+49 30 1"}}"#).unwrap();
//! assert_eq!(shown, r#"{"password":"[redacted]","guest":{"phone":"[redacted]"}}"#);
//! assert_eq!(hidden, ["password", "guest.phone"]);
//! # Ok::<(), portion_redact::RedactError>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `rules` | what an operator writes, and the match of a name |
//! | `name` | the names of secrets: patterns over their words |
//! | `value`, `code` | the rule: patterns for what speaks of a secret: a message, a reference, a type, source code |
//! | `pattern` | word lists and regular expressions |
//! | `prefilter` | the places at which a secret may begin; a text without one is not read |
//! | `json` | members, pairs, tables and Kubernetes secrets: an object is decided when it ends. JSON that is cut off is completed first |
//! | `view` | patterns of unusual settings, and a copy of a text with the same offsets in which they are written as usual |
//! | `text`, `text_*`, `setting_*`, `yaml` | settings in text: their names, values and the names around them |
//! | `columns` | the hidden columns of a table, and the tables of HTML and of terminals |
//! | `delimited`, `sql`, `markup`, `manifest` | separated values, statements, elements and manifests |
//! | `numbered` | texts with a number before each line are redacted without the numbers |
//! | `notation` | what is hidden in data of another notation, read as JSON, is hidden in the text |
//! | `token` | secrets that are recognizable by themselves |
//! | `edit` | applies replacements, and names what they hide |

mod code;
mod columns;
mod delimited;
mod edit;
mod json;
mod manifest;
mod markup;
mod name;
mod notation;
mod numbered;
mod pair;
mod pattern;
mod prefilter;
mod rules;
mod setting_name;
mod setting_value;
mod sql;
mod text;
mod text_pair;
mod text_value;
mod text_value_rest;
mod token;
mod value;
mod view;
mod yaml;

use code::TextFacts;
pub use edit::REDACTED;
use edit::{BYTE_ORDER_MARK, Findings, TextEdit, add_name, apply_edits};
use json::JsonFindings;
use numbered::NumberedLines;
use rules::NameMatch;
pub use rules::{RedactError, RedactionRules};
use view::plain_view;

/// Returns true if a name is that of a redacted field, or the end of its dotted path. Case does not matter.
///
/// ```
/// use portion_redact::is_redacted_field;
///
/// let hidden = ["guest.phone".to_owned()];
/// assert!(is_redacted_field(&hidden, "Phone"));
/// assert!(!is_redacted_field(&hidden, "hone"));
/// ```
pub fn is_redacted_field(redacted_paths: &[String], name: &str) -> bool {
    !name.is_empty()
        && redacted_paths.iter().any(|path| {
            let start = path.len().checked_sub(name.len()).filter(|at| path.is_char_boundary(*at));
            start.is_some_and(|at| {
                path[at..].eq_ignore_ascii_case(name) && (at == 0 || path[..at].ends_with('.'))
            })
        })
}

/// A redacted text with the names of its hidden fields; `None` if nothing is hidden.
type Redacted = Option<(String, Vec<String>)>;
/// Maximum levels of nested strings that are searched for JSON.
const MAX_STRING_DEPTH: usize = 8;

impl RedactionRules {
    /// Redacts JSON, or text of JSON lines; `None` if nothing is hidden.
    ///
    /// Also returns the dotted paths of the redacted fields, without indices, each once, in order of
    /// occurrence.
    pub fn redact_json(&self, json: &str) -> Option<(String, Vec<String>)> {
        self.apply(json, json::redact(self, json, MAX_STRING_DEPTH).found)
    }

    /// Redacts text: the members of JSON in it, the columns of its tables, the values of settings (`password=…`,
    /// `Authorization: …`) and, if secrets are hidden, tokens that are recognizable by themselves. JSON that is cut off or
    /// faulty is read as far as possible. Returns `None` if nothing is hidden. The work is proportional to
    /// the text.
    pub fn redact_text(&self, text: &str) -> Option<(String, Vec<String>)> {
        redact_after_mark(text, |text| {
            self.redact_around_json(text, json::redact(self, text, MAX_STRING_DEPTH), MAX_STRING_DEPTH)
        })
    }

    /// Redacts any text: JSON, JSON lines, or other text.
    pub fn redact(&self, text: &str) -> Option<(String, Vec<String>)> {
        if *self == Self::none() {
            return None;
        }
        self.redact_within(text, MAX_STRING_DEPTH)
    }

    /// Redacts any text; `strings` is the number of string levels still searched.
    fn redact_within(&self, text: &str, strings: usize) -> Redacted {
        let may_hold = || {
            let first_line = text.lines().next().unwrap_or_default();
            prefilter::may_hold(text) || token::may_be_of_password_file(first_line)
        };
        if self.patterns.is_empty() && !may_hold() {
            return None;
        }
        if let Some(lines) = NumberedLines::parse(text) {
            let (shown, names) = self.redact_content(&lines.content(), strings)?;
            return Some((lines.number(&shown), names));
        }
        self.redact_content(text, strings)
    }

    /// Redacts a text whose lines have no numbers.
    fn redact_content(&self, text: &str, strings: usize) -> Redacted {
        redact_after_mark(text, |text| {
            let json = json::redact(self, text, strings);
            if json.is_json && !self.is_quoted_table(text) {
                return self.apply(text, json.found);
            }
            self.redact_around_json(text, json, strings)
        })
    }

    /// Redacts a text in four steps: the JSON in it, what it holds as data of another notation, the cells of its tables, and all
    /// else.
    fn redact_around_json(&self, text: &str, json: JsonFindings, strings: usize) -> Redacted {
        let JsonFindings { found, mut ranges, .. } = json;
        let without_json = apply_edits(text, found.edits, &mut ranges);
        let text = without_json.as_deref().unwrap_or(text);
        let mut data = Findings { edits: Vec::new(), names: found.names };
        notation::redact(self, text, strings, &mut data);
        delimited::redact_quoted(self, text, strings, &mut data);
        let without_data = apply_edits(text, data.edits, &mut ranges);
        let text = without_data.as_deref().unwrap_or(text);
        let view = plain_view(text);
        let mut cells = Findings { edits: Vec::new(), names: data.names };
        let is_code = TextFacts::new(text).is_source_code();
        // Arguments between commas are no cells.
        if !is_code {
            delimited::redact(self, &view, &mut cells);
            columns::redact_terminal(self, &view, &mut cells);
        }
        columns::redact_html(self, &view, &mut cells);
        sql::redact(self, &view, &mut cells);
        let mut names = cells.names;
        let without_cells = apply_edits(text, cells.edits, &mut ranges);
        let (text, view) = match &without_cells {
            Some(text) => (text.as_str(), plain_view(text)),
            None => (text, view),
        };
        let found = text::redact(self, &view, (text, &ranges));
        let shown = apply_edits(text, found.edits, &mut []);
        // Data have told the path of a name.
        let is_new = |name: &&String| !is_redacted_field(&names, name);
        let new: Vec<&String> = found.names.iter().filter(is_new).collect();
        new.into_iter().for_each(|name| add_name(&mut names, name));
        Some((shown.or(without_cells).or(without_data).or(without_json)?, self.reported_names(names)))
    }

    /// Applies what was found in a text; `None` if nothing was.
    fn apply(&self, text: &str, found: Findings) -> Redacted {
        Some((apply_edits(text, found.edits, &mut [])?, self.reported_names(found.names)))
    }

    /// Returns true for a table with a hidden column whose cells are all in quotes or numbers, in one column or between tabs:
    /// each is a JSON value, too.
    fn is_quoted_table(&self, text: &str) -> bool {
        let mut lines = text.lines().map(str::trim_start);
        if !text.trim_start().starts_with('"') || lines.any(|line| line.starts_with(['{', '['])) {
            return false;
        }
        let mut found = Findings::default();
        delimited::redact(self, text, &mut found);
        !found.edits.is_empty()
    }

    /// Redacts the name of a member if it contains a secret, such as `password=…`; `None` if it contains none.
    pub fn redact_name(&self, name: &str) -> Option<String> {
        let may_contain = name.contains(['=', ':']) || self.hides_secrets && token::may_contain(name);
        may_contain.then(|| apply_edits(name, text::redact(self, name, (name, &[])).edits, &mut []))?
    }

    /// Returns the names of redacted fields as they are reported: without secrets in them.
    fn reported_names(&self, names: Vec<String>) -> Vec<String> {
        names.into_iter().map(|name| self.redact_name(&name).unwrap_or(name)).collect()
    }
}

/// Redacts what follows the byte order mark of a text.
fn redact_after_mark(text: &str, redact: impl FnOnce(&str) -> Redacted) -> Redacted {
    let content = text.trim_start_matches(BYTE_ORDER_MARK);
    let (shown, names) = redact(content)?;
    let mark = &text[..text.len() - content.len()];
    Some((if mark.is_empty() { shown } else { format!("{mark}{shown}") }, names))
}
