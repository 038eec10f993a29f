//! What is wrong with a request, in words that name the next move.

use std::fmt::Write as _;

use thiserror::Error;

use super::request::CONTROLS;

/// A request that cannot be served as it stands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ViewError {
    /// `limit` is no count.
    #[error("limit is {given}, but it is a whole number from 1 to {max}")]
    Limit {
        /// What was given.
        given: String,
        /// The most that can be asked for.
        max: usize,
    },
    /// `limit` is beyond the policy.
    #[error("limit exceeds maximum of {max}: {given} was asked for")]
    LimitTooLarge {
        /// What was given.
        given: String,
        /// The most that can be asked for.
        max: usize,
    },
    /// `page` or `pages` is no page.
    #[error("page is {0}, but pages are whole numbers from 1 (pages: a range like 1-3)")]
    Page(String),
    /// `offset` is no offset.
    #[error("offset is {0}, but it is a whole number from 0")]
    Offset(String),
    /// A field that no item has.
    #[error("no item has a field {given}{}", nearest_text(.nearest.as_deref()))]
    Field {
        /// What was given.
        given: String,
        /// The most similar name there is.
        nearest: Option<String>,
        /// The names there are, the most useful first.
        available: Vec<String>,
    },
    /// `fields` on something without any.
    #[error("fields does not apply here: {0}")]
    NoFields(&'static str),
    /// A path that leads nowhere.
    #[error("nothing is at path {given}: {reached} has no {missing}{}", nearest_text(.nearest.as_deref()))]
    Path {
        /// What was given.
        given: String,
        /// How far it leads.
        reached: String,
        /// The step that fails.
        missing: String,
        /// The most similar step there is.
        nearest: Option<String>,
        /// What can be stepped to from there.
        available: Vec<String>,
    },
    /// A section that is not there.
    #[error("there is no section {given}{}", nearest_text(.nearest.as_deref()))]
    Section {
        /// What was given.
        given: String,
        /// The most similar name there is.
        nearest: Option<String>,
        /// The sections there are.
        available: Vec<String>,
    },
    /// A line range that is not in the text.
    #[error("{0}")]
    Range(String),
    /// A `sort` that cannot be followed.
    #[error("sort is {given}, but {why}")]
    Sort {
        /// What was given.
        given: String,
        /// Why not.
        why: String,
    },
    /// `maxTokens` outside of what the policy allows.
    #[error("maxTokens is {given}, but it is a whole number from {least} to {most}")]
    MaxTokens {
        /// What was given.
        given: String,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Two controls that exclude each other.
    #[error("{one} and {other} cannot be combined")]
    Conflict {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// A page of what has none.
    #[error("this is one object, which has no pages")]
    NoPages,
    /// An argument of our own tool that is no control.
    #[error("there is no argument {0}")]
    UnknownArgument(String),
    /// A control of the wrong kind.
    #[error("{name} is {given}, but it is {wants}")]
    Malformed {
        /// The code of the control's errors.
        code: &'static str,
        /// The control.
        name: String,
        /// What was given.
        given: String,
        /// What it takes.
        wants: &'static str,
    },
}

fn nearest_text(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

impl ViewError {
    pub(super) fn page(given: String) -> Self {
        Self::Page(given)
    }

    pub(super) fn offset(given: String) -> Self {
        Self::Offset(given)
    }

    pub(super) fn malformed(name: &str, given: String, wants: &'static str) -> Self {
        let code = match name {
            "cursor" => "cursor_invalid",
            "fields" => "field_unknown",
            "section" => "section_unknown",
            "path" => "path_unknown",
            "sort" => "sort_invalid",
            _ => "controls_conflict",
        };
        Self::Malformed { code, name: name.to_owned(), given, wants }
    }

    /// The code a program can act on; `docs/replies.md` lists them all.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Limit { .. } => "limit_invalid",
            Self::LimitTooLarge { .. } => "limit_too_large",
            Self::Page(_) | Self::NoPages => "page_invalid",
            Self::Offset(_) => "offset_invalid",
            Self::Field { .. } | Self::NoFields(_) => "field_unknown",
            Self::Path { .. } => "path_unknown",
            Self::Section { .. } => "section_unknown",
            Self::Range(_) => "range_invalid",
            Self::Sort { .. } => "sort_invalid",
            Self::MaxTokens { .. } => "max_tokens_invalid",
            Self::Conflict { .. } | Self::UnknownArgument(_) => "controls_conflict",
            Self::Malformed { code, .. } => code,
        }
    }

    /// What to do next.
    pub fn advice(&self) -> String {
        match self {
            Self::Limit { max, .. } => format!("give a limit from 1 to {max}, or none"),
            Self::LimitTooLarge { max, .. } => {
                format!(
                    "give limit={max} and follow nextCursor for the rest, or filter with the tool's own arguments"
                )
            }
            Self::Page(_) => "give page=1 for the start, or follow nextCursor".into(),
            Self::NoPages => "leave page and offset out; use section, path or fields".into(),
            Self::Offset(_) => "give offset=0 for the start, or follow nextCursor".into(),
            Self::Field { available, .. } => {
                name_sentence("choose from: ", available, "fields=all gives every field")
            }
            Self::NoFields(_) => "leave fields out; use section, path, startLine/endLine or raw".into(),
            Self::Path { available, .. } => {
                name_sentence("available there: ", available, "leave path out to see the whole")
            }
            Self::Section { available, .. } => {
                name_sentence("choose from: ", available, "path and startLine/endLine work everywhere")
            }
            Self::Range(_) => "give startLine and endLine within the text; -1 is the last line".into(),
            Self::Sort { .. } => "give a field's name, and ` desc` after it for the largest first".into(),
            Self::MaxTokens { least, most, .. } => format!("give maxTokens from {least} to {most}, or none"),
            Self::Conflict { one, other } => format!("give {one} or {other}, not both"),
            Self::UnknownArgument(_) => format!("leave it out; the arguments are {}", CONTROLS.join(", ")),
            Self::Malformed { name, wants, .. } => format!("give {name} as {wants}, or leave it out"),
        }
    }
}

/// Names in a sentence, as many as fit some 600 characters.
fn name_sentence(before: &str, names: &[String], otherwise: &str) -> String {
    if names.is_empty() {
        return otherwise.to_owned();
    }
    let mut text = before.to_owned();
    for (i, name) in names.iter().enumerate() {
        if text.len() + name.len() > 600 {
            let _ = write!(text, " … and {} more", names.len() - i);
            break;
        }
        if i > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    text.push_str("; ");
    text.push_str(otherwise);
    text
}
