//! Separates the gateway's own query parameters (controls) from those of the API.

use portion_core::paging::PagingRole;
use portion_core::policy::Policy;
use portion_core::view::{ControlNames, Request, ViewError, is_statement};
use portion_json::scan::quote;
use portion_policy::upstream::{Parameter, parameters};

/// A query, split into controls and the rest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitQuery {
    /// Names and values of the controls, decoded.
    controls: Vec<(String, String)>,
    /// Other parameters, as received.
    pub(crate) rest: String,
}

impl SplitQuery {
    /// Splits a query. `is_owned` returns true for parameters that the API reads itself. With `takes_spellings`, names of
    /// controls may have another case or other separators.
    pub(crate) fn new(
        query: &str,
        (names, takes_spellings): (&ControlNames, bool),
        is_owned: impl Fn(&str) -> bool,
    ) -> Self {
        let control_of = |name: &str| {
            let control = names.control(name)?;
            let listed = names.listed(control).filter(|listed| takes_spellings || *listed == name)?;
            (!is_owned(name) && !is_owned(listed)).then_some(control)
        };
        let (mut controls, mut rest) = (Vec::new(), Vec::new());
        for Parameter { text, name, value } in parameters(query) {
            match control_of(&name) {
                Some(control) => controls.push((control.to_owned(), value)),
                None => rest.push(text),
            }
        }
        Self { controls, rest: rest.join("&") }
    }

    /// Turns parameters into controls. `control_for` gets the name and the value of each, decoded.
    pub(crate) fn translate(&mut self, control_for: impl Fn(&str, &str) -> Option<(&'static str, String)>) {
        for (name, value) in &mut self.controls {
            if let Some((control, translated)) = control_for(name, value) {
                (*name, *value) = (control.to_owned(), translated);
            }
        }
        let mut rest = Vec::new();
        for Parameter { text, name, value } in parameters(&self.rest) {
            match control_for(&name, &value) {
                Some((control, value)) => self.controls.push((control.to_owned(), value)),
                None => rest.push(text),
            }
        }
        self.rest = rest.join("&");
    }

    /// Returns true if the request has a control.
    pub(crate) fn has_controls(&self) -> bool {
        !self.controls.is_empty()
    }

    /// Returns true if the request has controls, and no others than these.
    pub(crate) fn has_only(&self, names: &[&str]) -> bool {
        self.has_controls() && self.controls.iter().all(|(name, _)| names.contains(&name.as_str()))
    }

    /// Returns true if the request has this control.
    pub(crate) fn has_control(&self, wanted: &str) -> bool {
        self.controls.iter().any(|(name, _)| name == wanted)
    }

    /// Returns true if the request has this control with this value.
    pub(crate) fn has_value(&self, wanted: &str, value: &str) -> bool {
        self.controls.iter().any(|(name, own)| name == wanted && own == value)
    }

    /// Returns the cursor, if there is one.
    pub(crate) fn cursor(&self) -> Option<&str> {
        self.value("cursor")
    }

    /// Returns the value of a control, if there is one.
    pub(crate) fn value(&self, wanted: &str) -> Option<&str> {
        self.controls.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// Returns the names of some parameters, for records.
    pub(crate) fn names(&self) -> Vec<String> {
        self.all_names().take(32).collect()
    }

    /// Returns true if the query has a parameter with such a name, control or not.
    pub(crate) fn has_parameter(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.all_names().any(|name| is_meant(&name))
    }

    /// Returns true if a parameter that is no control selects a page.
    pub(crate) fn selects_own_page(&self) -> bool {
        parameters(&self.rest).any(|parameter| match PagingRole::of(&parameter.name) {
            // Dates of a filter have such names, too.
            Some(PagingRole::Page | PagingRole::Offset) => parameter.value.parse::<u64>().is_ok(),
            role => matches!(role, Some(PagingRole::Cursor | PagingRole::LastId)),
        })
    }

    fn all_names(&self) -> impl Iterator<Item = String> {
        let rest = parameters(&self.rest).map(|parameter| parameter.name);
        self.controls.iter().map(|(name, _)| name.clone()).chain(rest)
    }

    /// Parses the controls. The values of several `fields` are joined, because many clients repeat the name of a list.
    ///
    /// # Errors
    /// Returns the first control that is invalid or has two values, or two that exclude each other.
    pub(crate) fn parse(&self, policy: &Policy) -> Result<Request, ViewError> {
        let mut values: Vec<(&str, String)> = Vec::new();
        for (name, value) in &self.controls {
            match values.iter_mut().find(|(known, _)| known == name) {
                None => values.push((name, value.clone())),
                Some((_, first)) if name == "fields" => {
                    first.push(',');
                    first.push_str(value);
                }
                Some((_, first)) if first == value => {}
                Some(_) => return Err(ViewError::Repeated(name.clone())),
            }
        }
        let mut request = Request::default();
        for (name, value) in values {
            request.set_control(name, &quote(&value), policy)?;
        }
        request.check()?;
        Ok(request)
    }

    /// Returns the rest in an order that does not depend on how it was written, to find equal requests.
    pub(crate) fn canonical_rest(&self) -> String {
        let mut parameters: Vec<&str> = self.rest.split('&').collect();
        parameters.sort_unstable();
        parameters.join("&")
    }
}

/// Returns true if the parameters have a query of a result that is the gateway's. `is_of_api` returns true if a text to find is for
/// the API, and gets the cursor of the request; nothing, if it is known that the API has no such parameter.
pub(crate) fn has_query(
    rest: &str,
    names: &ControlNames,
    is_of_api: Option<impl Fn(Option<&str>) -> bool>,
) -> bool {
    let value = |control: Option<&str>| {
        let mut given = parameters(rest);
        given.find(|given| control == Some(&*given.name)).map(|given| given.value)
    };
    let cursor = value(names.listed("cursor")).or_else(|| value(names.listed("with")));
    let is_ours = |query: String| {
        is_of_api.is_none_or(|is_of_api| reads_kept_result(&query) || !is_of_api(cursor.as_deref()))
    };
    value(names.query()).is_some_and(is_ours)
}

/// Names of tables that only a result kept by the gateway has.
const TABLES: [&str; 6] = ["items", "lines", "entries", "sections", "leaves", "fields"];

/// Returns true for a statement over the tables of a kept result. Where it is not known which parameters an API reads, a text to
/// find and a statement over other tables are for the API.
fn reads_kept_result(query: &str) -> bool {
    if !is_statement(query) {
        return false;
    }
    let words: Vec<String> = query
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let is_table = |word: &String| TABLES.contains(&word.as_str());
    words.windows(2).any(|pair| {
        let (before, after) = (pair[0].as_str(), &pair[1]);
        matches!(before, "from" | "join" | "describe" | "desc" | "table_info") && is_table(after)
            || before == "show" && after == "tables"
    })
}

#[cfg(test)]
mod tests {
    use portion_core::policy::Policy;

    use super::{ControlNames, SplitQuery, has_query};

    #[test]
    fn controls_are_removed_and_the_rest_is_kept_as_written() {
        let check = |query: &str, rest: &str, limit: Option<u32>| {
            let split = SplitQuery::new(query, (&ControlNames::default(), false), |name| name == "sort");
            let request = split.parse(&Policy::default()).map_err(|error| error.to_string());
            assert_eq!(
                (split.rest.as_str(), request.map(|request| request.limit)),
                (rest, Ok(limit)),
                "{query}"
            );
        };
        check("", "", None);
        check("a=1&limit=7&b=%20x&sort=up", "a=1&b=%20x&sort=up", Some(7));
        check("l%69mit=7", "", Some(7));
        check("Limit=7&limits=8&&=", "Limit=7&limits=8&=", None);
    }

    #[test]
    fn other_spellings_are_controls_where_the_parameters_of_the_api_are_known() {
        let check = |takes_spellings: bool, query: &str, rest: &str, limit: Option<u32>| {
            let split = SplitQuery::new(query, (&ControlNames::default(), takes_spellings), |name| {
                name == "max_tokens"
            });
            let request = split.parse(&Policy::default()).expect("valid controls");
            assert_eq!((split.rest.as_str(), request.limit), (rest, limit), "{query}");
            assert_eq!(request.max_tokens, None, "{query}");
        };
        check(true, "Limit=7&max_tokens=900&a=1", "max_tokens=900&a=1", Some(7));
        check(false, "Limit=7&max_tokens=900&a=1", "Limit=7&max_tokens=900&a=1", None);
    }

    #[test]
    fn statements_over_kept_results_are_told_from_those_of_an_api() {
        let names = ControlNames::default();
        // The API was sent the text for the result "sent".
        let is_of_api = |cursor: Option<&str>| cursor.is_none_or(|cursor| cursor == "sent");
        let check = |value: &str, expect: bool| {
            let query = format!("a=1&query={value}");
            assert_eq!(has_query(&query, &names, Some(is_of_api)), expect, "{value}");
        };
        check("SELECT%20count(*)%20FROM%20items", true);
        check("select+1+from+items('/data')", true);
        check("SHOW+TABLES", true);
        check("DESCRIBE+items", true);
        check("SELECT+*+FROM+orders", false);
        check("items", false);
        check("from+items", false);
        check("/items/", false);
        check("x&cursor=sent", false);
        check("x&cursor=abc", true);
        check("SELECT+*+FROM+b&with=%7B%22b%22:%22abc%22%7D", true);
        assert!(!has_query("q=SELECT+1+FROM+items", &names, Some(is_of_api)));
        assert!(has_query("query=x", &names, None::<fn(Option<&str>) -> bool>));
    }

    #[test]
    fn invalid_controls_are_errors() {
        let code = |query: &str| {
            let split = SplitQuery::new(query, (&ControlNames::default(), false), |_| false);
            split.parse(&Policy::default()).map(|_| ()).map_err(|error| error.code().name())
        };
        assert_eq!(code("limit=0"), Err("limit_invalid"));
        assert_eq!(code("limit=5000"), Err("limit_too_large"));
        assert_eq!(code("page=2&offset=3"), Err("controls_conflict"));
        assert_eq!(code("fields=&limit="), Ok(()));
        assert_eq!(code("limit=2&page=1&limit=3"), Err("controls_conflict"));
        assert_eq!(code("limit=2&limit=2"), Ok(()));
    }

    #[test]
    fn repeated_fields_are_one_list() {
        let split =
            SplitQuery::new("fields=id&limit=2&fields=name,price", (&ControlNames::default(), false), |_| {
                false
            });
        let joined =
            SplitQuery::new("fields=id,name,price&limit=2", (&ControlNames::default(), false), |_| false);
        assert_eq!(split.parse(&Policy::default()).ok(), joined.parse(&Policy::default()).ok());
    }

    #[test]
    fn equal_requests_have_equal_rests() {
        let rest = |query: &str| {
            SplitQuery::new(query, (&ControlNames::default(), false), |_| false).canonical_rest()
        };
        assert_eq!(rest("b=2&a=1&page=3"), rest("a=1&b=2"));
        assert_ne!(rest("a=1"), rest("a=2"));
    }
}
