//! Laws of the rewriter.

use std::borrow::Cow;

use proptest::prelude::*;

use super::token::{TokenKind, tokens};
use super::{normalized, parse_catalog_statement, rewrite};

/// Parts of statements that mean the same in SQLite.
const FIXED: &[&str] = &[
    "SELECT",
    "FROM items",
    "WHERE",
    "a",
    "count(*)",
    "(",
    ")",
    ",",
    "AND",
    "NOT LIKE",
    "-",
    "+ 1",
    "~ 5",
    "||",
    "= :p",
    "\"a::int\"",
    "[b ILIKE c]",
    "`now()`",
    "'x::int ~ y'",
    "'it''s tags[0]'",
    "/* a::int */",
    "-- now()\n",
    "1.5e-3",
    "date(a)",
    "CAST(a AS TEXT)",
    "CAST(a AS TEXT)",
    "date",
    "interval",
    "CURRENT_DATE",
    "strftime('%Y', a)",
    "group_concat(a, ';')",
    "CASE WHEN a THEN b END",
    "a.b.c",
    "count(a) OVER (ORDER BY b)",
    "->> '$.a[0]'",
    "é",
    ";",
];

/// A part of a statement that SQLite reads as other dialects do.
fn plain() -> impl Strategy<Value = String> {
    prop_oneof![8 => prop::sample::select(FIXED).prop_map(str::to_owned), 1 => "'[a-z\"` ]{0,6}'"]
}

proptest! {
    #[test]
    fn tokens_cover_the_statement(sql in "\\PC{0,80}|[-'\"`\\[\\]():.~*/ a1\n]{0,40}") {
        let tokens = tokens(&sql);
        let covered: String = tokens.iter().map(|token| &sql[token.range.clone()]).collect();
        prop_assert_eq!(covered, sql);
    }

    #[test]
    fn a_statement_without_other_forms_stays(parts in prop::collection::vec(plain(), 0..12)) {
        // A sign between a space and a parenthesis begins an expression.
        let sql = format!("SELECT {}", parts.join(" , "));
        let rewritten = rewrite(&sql, &|_| None).expect("no error");
        prop_assert!(matches!(rewritten, Cow::Borrowed(_)), "{} became {}", sql, rewritten);
    }
}

/// Returns the usual number of cases, of which at most two thirds are rejected.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { max_global_rejects: 2 * config.cases, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn texts_and_quoted_names_stay(sql in "(a|b|'x y'|\"c d\"|::| int|::date| - | \\~ |\\(|\\)| ILIKE |now\\(\\)|EXTRACT\\(|year FROM |,|/\\*z\\*/| INTERVAL | day|7|CASE | END|CAST\\(| AS |string_agg\\(DISTINCT | WITHIN GROUP \\(ORDER BY |\\.|DATE |'2025-01-01'){0,30}") {
        let Ok(rewritten) = rewrite(&sql, &|_| Some("2025-01-30T10:00:00Z".to_owned())) else {
            return Err(TestCaseError::reject("no dialect has this statement"));
        };
        let names = |sql: &str| -> Vec<String> {
            let quoted = tokens(sql).into_iter().filter(|token| token.kind == TokenKind::QuotedName);
            quoted.map(|token| sql[token.range].to_owned()).collect()
        };
        let (mut before, mut after) = (names(&sql), names(&rewritten));
        before.sort();
        after.sort();
        prop_assert_eq!(before, after, "{} became {}", sql, rewritten);
        let _ = (normalized(&sql), parse_catalog_statement(&sql), super::json_arguments(&sql));
    }
}
