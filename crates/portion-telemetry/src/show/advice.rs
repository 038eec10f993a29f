//! Formats page-size advice as text and as configuration.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portion_text::display::{counted, yaml_scalar};

use super::cell::{Cell, grouped};
use super::format::Column;
use super::printable;
use crate::advise::{Advice, MIN_CALLS, MIN_READ_ON_SHARE, Verdict};

pub(super) const ADVICE: &[Column<Advice>] = &[
    Column::machine("upstream", |advice| Cell::maybe(advice.endpoint.upstream.clone(), Cell::Text)),
    Column::machine("kind", |advice| Cell::text(&advice.endpoint.kind)),
    Column::machine("endpoint", |advice| Cell::text(&advice.endpoint.name)),
    Column::human("endpoint", |advice| Cell::text(advice.endpoint.to_string())),
    Column::both("calls", "calls", |advice| Cell::Count(advice.calls)),
    Column::both("followUps", "follow-ups", |advice| Cell::Count(advice.follow_ups)),
    Column::both("readOnShare", "read on", |advice| Cell::Share(advice.read_on)),
    Column::both("itemsNeeded", "needed", |advice| Cell::Count(advice.needed)),
    Column::both("tokensPerItem", "tokens/item", |advice| Cell::Number(advice.tokens_per_item)),
    Column::both("pageSize", "page size", |advice| Cell::Count(advice.page_size)),
    Column::machine("verdict", |advice| Cell::text(advice.verdict.name())),
    Column::both("betterPageSize", "better", |advice| Cell::maybe(advice.verdict.page_size(), Cell::Count)),
    Column::machine("budgetNeeded", |advice| match advice.verdict {
        Verdict::Bounded { budget, .. } => Cell::maybe(budget, Cell::Count),
        _ => Cell::Empty,
    }),
    Column::both("savedFollowUps", "saves pages", |advice| {
        Cell::maybe(advice.verdict.page_size(), |_| Cell::Count(advice.saved_follow_ups))
    }),
    Column::both("savedTokens", "tokens", |advice| {
        Cell::maybe(advice.verdict.page_size(), |_| Cell::Number(advice.saved_tokens as f64))
    }),
];

/// Explains the advice in words and as configuration.
pub(super) fn explanation(advice: &[Advice]) -> String {
    let mut text = String::new();
    if advice.is_empty() {
        return "no list was paged in that time: no advice\n".to_owned();
    }
    for one in advice {
        if let Some(words) = words(one) {
            let _ = writeln!(text, "\n{}: {words}", printable(&one.endpoint.to_string()));
        }
    }
    text.push_str(&configuration(advice));
    text.push_str(
        "\nEstimates. \"needed\" is the number of items that covers four calls in five. A\n\
         follow-up is taken to cost 160 tokens besides its items; items that nobody reads\n\
         count against the tokens saved. Among the sizes that save tokens, \"better\" saves\n\
         the most, each avoided call counted as 500 more tokens.\n",
    );
    text
}

fn words(advice: &Advice) -> Option<String> {
    let needed = advice.needed;
    Some(match advice.verdict {
        Verdict::Fits if advice.read_on < MIN_READ_ON_SHARE => return None,
        Verdict::Fits => "no larger page would have saved tokens".to_owned(),
        Verdict::TooFew => {
            format!("{}; advice needs {MIN_CALLS}", counted(advice.calls as usize, "call"))
        }
        Verdict::Larger { page_size, bounded: false } => {
            format!("with a page size of {page_size}, most calls need one reply")
        }
        Verdict::Larger { page_size, bounded: true } => {
            format!("{page_size} is the largest page that maxPageSize allows; callers read {needed} items")
        }
        Verdict::Bounded { budget, .. } => {
            let items = format!("the token budget holds fewer than the {needed} items that callers read");
            match budget {
                Some(budget) => format!(
                    "{items}; raise tokenBudgetThreshold and replyTarget to {}, or make items \
                     smaller: summaryFields, stripFields, profile: lean",
                    grouped(budget)
                ),
                None => format!(
                    "{items}, and a budget that holds them would exceed the hardCap; make items smaller: summaryFields, \
                     stripFields, profile: lean"
                ),
            }
        }
    })
}

/// Returns the configuration keys to set, as YAML.
fn configuration(advice: &[Advice]) -> String {
    let mut upstreams: BTreeMap<Option<&str>, String> = BTreeMap::new();
    for one in advice {
        let Some(size) = one.verdict.page_size() else { continue };
        let upstream = one.endpoint.upstream.as_deref();
        let indent = if upstream.is_some() { "      " } else { "  " };
        let rules = upstreams.entry(upstream).or_default();
        let _ = writeln!(rules, "{indent}{}:\n{indent}  pageSize: {size}", yaml_scalar(&one.endpoint.name));
    }
    let mut text = String::new();
    for (at, (upstream, rules)) in upstreams.iter().enumerate() {
        let _ = match (upstream, at) {
            (None, _) => write!(text, "\nendpoints:\n{rules}"),
            (Some(name), 0 | 1) if !text.contains("\nupstreams:\n") => {
                write!(text, "\nupstreams:\n  {}:\n    endpoints:\n{rules}", yaml_scalar(name))
            }
            (Some(name), _) => write!(text, "  {}:\n    endpoints:\n{rules}", yaml_scalar(name)),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Endpoint;

    fn advice(upstream: Option<&str>, name: &str, verdict: Verdict) -> Advice {
        let endpoint =
            Endpoint { upstream: upstream.map(str::to_owned), name: name.to_owned(), ..Endpoint::default() };
        Advice {
            endpoint,
            calls: 40,
            follow_ups: 80,
            read_on: 1.0,
            needed: 150,
            tokens_per_item: 20.0,
            page_size: 50,
            verdict,
            saved_follow_ups: 80,
            saved_tokens: 12_800,
        }
    }

    #[test]
    fn keys_stand_where_the_configuration_has_them() {
        let larger = Verdict::Larger { page_size: 150, bounded: false };
        let found = configuration(&[
            advice(Some("hotel"), "list_rooms", larger),
            advice(None, "file:///a \"b\"\n", larger),
            advice(None, "list_bookings", larger),
            advice(Some("docs"), "search", Verdict::Bounded { page_size: Some(90), budget: None }),
            advice(None, "list_guests", Verdict::Fits),
        ]);
        let expect = r#"
endpoints:
  "file:///a \"b\"\n":
    pageSize: 150
  list_bookings:
    pageSize: 150

upstreams:
  docs:
    endpoints:
      search:
        pageSize: 90
  hotel:
    endpoints:
      list_rooms:
        pageSize: 150
"#;
        assert_eq!(found, expect);
        assert_eq!(configuration(&[]), "");
    }

    #[test]
    fn what_bounds_is_named() {
        let check = |verdict, expect: &str| {
            let text = explanation(&[advice(None, "list_bookings", verdict)]);
            assert!(text.contains(expect), "{text}");
        };
        check(Verdict::TooFew, "list_bookings: 40 calls; advice needs 20");
        check(Verdict::Larger { page_size: 200, bounded: true }, "that maxPageSize allows");
        check(Verdict::Bounded { page_size: None, budget: Some(7_200) }, "replyTarget to 7,200");
        check(Verdict::Bounded { page_size: None, budget: None }, "would exceed the hardCap");
        check(Verdict::Fits, "list_bookings: no larger page would have saved tokens");
        assert!(explanation(&[]).contains("no advice"));
    }
}
