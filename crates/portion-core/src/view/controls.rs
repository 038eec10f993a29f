//! Names of the controls.

use std::sync::Arc;

/// Names of all controls, as callers write them.
pub const CONTROLS: [&str; 15] = [
    "cursor",
    "limit",
    "page",
    "pages",
    "offset",
    "fields",
    "section",
    "path",
    "startLine",
    "endLine",
    "sort",
    "raw",
    "maxTokens",
    "query",
    "with",
];

/// Returns the control that a name means, also in another case or with separators: `start_line` is `startLine`.
pub fn control_named(name: &str) -> Option<&'static str> {
    let letters = |name: &str| -> Vec<u8> {
        let plain = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        plain.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let exact = CONTROLS.into_iter().find(|control| *control == name);
    exact.or_else(|| CONTROLS.into_iter().find(|control| letters(control) == letters(name)))
}

/// Names of the controls among the arguments of an upstream: `query` may have another, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlNames {
    query: Option<Arc<str>>,
}

impl Default for ControlNames {
    fn default() -> Self {
        Self::new(Some(QUERY))
    }
}

impl ControlNames {
    /// Creates the names, with that of the query.
    pub fn new(query: Option<&str>) -> Self {
        Self { query: query.map(Into::into) }
    }

    /// Returns the name of the query.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Returns the name by which callers give a control; `None` for a query that is switched off.
    pub fn listed<'a>(&'a self, control: &'a str) -> Option<&'a str> {
        match control {
            QUERY => self.query(),
            WITH => self.query().map(|_| control),
            _ => Some(control),
        }
    }

    /// Returns the control that an argument means. It may be written in another case, or as `start_line`.
    pub fn control(&self, name: &str) -> Option<&'static str> {
        let is_renamed = self.query() != Some(QUERY);
        if is_renamed && self.query() == Some(name) {
            return Some(QUERY);
        }
        control_named(name)
            .filter(|control| !(is_renamed && *control == QUERY) && self.listed(control).is_some())
    }

    /// Returns true if a control of this name belongs to a query.
    pub fn are_of_query(&self, name: &str) -> bool {
        self.query() == Some(name) || self.listed(WITH) == Some(name)
    }
}

/// Control with a query.
const QUERY: &str = "query";
/// Control with the results that a query joins.
const WITH: &str = "with";

#[cfg(test)]
mod tests {
    use super::ControlNames;

    #[test]
    fn a_query_has_the_name_that_the_operator_gives() {
        let check = |query: Option<&str>, name: &str, control: Option<&str>| {
            assert_eq!(ControlNames::new(query).control(name), control, "{query:?} {name}");
        };
        check(Some("query"), "query", Some("query"));
        check(Some("query"), "Query", Some("query"));
        check(Some("query"), "ask", None);
        check(Some("query"), "start_line", Some("startLine"));
        check(Some("ask"), "ask", Some("query"));
        check(Some("ask"), "query", None);
        check(Some("ask"), "with", Some("with"));
        check(None, "query", None);
        check(None, "with", None);
        check(None, "limit", Some("limit"));
    }
}
