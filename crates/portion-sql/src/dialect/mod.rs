//! Reads statements, and rewrites those of other SQL dialects for SQLite.
//!
//! People and models write the SQL of Postgres, `MySQL`, `DuckDB` or T-SQL. A statement that SQLite accepts runs as written;
//! one that it rejects is parsed, and forms of other dialects are replaced on its tree. What the statement may do is decided
//! after that, by the same rules as for any statement.

mod calls;
mod checks;
mod clauses;
mod column_uses;
mod compared_type;
mod conditions;
mod edits;
mod elements;
mod literals;
mod rewriting;
mod scopes;
mod tables;

pub(crate) use checks::with_checks;
pub(crate) use column_uses::{ColumnUse, column_uses, json_arguments};
pub(crate) use compared_type::{ComparedType, TimeUnit};
pub(crate) use conditions::{Condition, TextComparison, WhereClause, having_extent, impossible_condition};
pub(crate) use edits::{
    argument_of, as_given, first_token, is_compared_value, is_used_alias, normalized, pattern,
    select_columns, string_literals, word_offsets,
};
pub(crate) use rewriting::{ColumnFacts, ColumnTypes, rewrite, rewrite_misread};
pub(crate) use tables::{
    CatalogStatement, NamedTables, PathTable, TableUse, name_tables, parse_catalog_statement,
};

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    Query, SetExpr, Statement, Value, Visit, visit_expressions,
};
use sqlparser::dialect::{
    BigQueryDialect, Dialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect,
    SQLiteDialect, SnowflakeDialect,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

/// Deepest recursion of the parser.
const MAX_DEPTH: usize = 100;
/// Deepest nesting of parentheses, `CASE` and prefixes. The parser tries some forms in two ways, so its time may double with
/// each level.
const MAX_NESTING: usize = 13;
/// Most signs and operators of a statement: the depth of its tree grows with them.
const MAX_OPERATORS: usize = 600;
const OPERATORS: &str = "and or not union except intersect is like between in collate";
/// Words after IS that the parser reads.
const AFTER_IS: &str = "null true false unknown distinct json nfc nfd nfkc nfkd normalized";

/// A statement that was parsed.
#[derive(Debug)]
pub(crate) struct Tree(Query);

impl Tree {
    /// Parses a statement in the first dialect that accepts it; `None` if none does, or if it is too large.
    pub(crate) fn parse(sql: &str) -> Option<Self> {
        parse(sql).map(Self)
    }

    /// Returns the tables that the statement reads.
    pub(crate) fn table_uses(&self) -> Vec<TableUse> {
        tables::table_uses(&self.0)
    }
}

/// Parses a query in the first dialect that accepts it; `None` if none does, or if it is too large.
fn parse(sql: &str) -> Option<Query> {
    let dialects: [&dyn Dialect; 8] = [
        &GenericDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &BigQueryDialect {},
        &DuckDbDialect {},
        &SnowflakeDialect {},
        &MsSqlDialect {},
        &SQLiteDialect {},
    ];
    dialects.into_iter().find_map(|dialect| {
        let tokens = Tokenizer::new(dialect, sql).tokenize_with_location().ok()?;
        let is_operator = |token: &Token| match token {
            Token::Word(word) => is_one_of(OPERATORS, &word.value),
            Token::Comma
            | Token::Period
            | Token::Whitespace(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_) => false,
            _ => true,
        };
        let is_large = tokens.iter().filter(|token| is_operator(&token.token)).count() > MAX_OPERATORS;
        if is_large || nesting(tokens.iter().map(|token| &token.token)) > MAX_NESTING {
            return None;
        }
        let tokens = with_distinct(tokens.into_iter().map(|token| token.token));
        let mut parser = Parser::new(dialect).with_recursion_limit(MAX_DEPTH).with_tokens(tokens);
        let mut statements = parser.parse_statements().ok()?.into_iter();
        match (statements.next(), statements.next()) {
            (Some(Statement::Query(query)), None) => Some(*query),
            _ => None,
        }
    })
}

/// Returns tokens in which `a IS b` of SQLite, which the parser does not read, is `a IS NOT DISTINCT FROM b`, and `trim` without
/// parentheses a name.
fn with_distinct(tokens: impl Iterator<Item = Token>) -> Vec<Token> {
    let tokens: Vec<Token> = tokens.filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    let is_word = |token: Option<&Token>, words: &str| matches!(token, Some(Token::Word(word)) if is_one_of(words, &word.value));
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        written.push(match token {
            Token::Word(word) if word.keyword == Keyword::TRIM && tokens.get(at) != Some(&Token::LParen) => {
                Token::Word(Word { keyword: Keyword::NoKeyword, ..word.clone() })
            }
            token => token.clone(),
        });
        let is_negated = is_word(tokens.get(at), "not");
        let value = tokens.get(at + usize::from(is_negated));
        if is_word(Some(token), "is") && value.is_some() && !is_word(value, AFTER_IS) {
            let words = if is_negated { &["distinct", "from"][..] } else { &["not", "distinct", "from"] };
            written.extend(words.iter().map(|word| Token::make_keyword(word)));
            at += usize::from(is_negated);
        }
    }
    written
}

/// Returns the deepest nesting of a statement.
fn nesting<'t>(tokens: impl Iterator<Item = &'t Token>) -> usize {
    let (mut depth, mut prefixes, mut deepest) = (0_usize, 0, 0);
    for token in tokens {
        let word = match token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket => "CASE".to_owned(),
            Token::RParen | Token::RBracket => "END".to_owned(),
            Token::Word(word) => word.value.to_ascii_uppercase(),
            _ => String::new(),
        };
        match word.as_str() {
            "CASE" => depth += 1,
            "END" => depth = depth.saturating_sub(1),
            "NOT" | "INTERVAL" | "PRIOR" | "EXISTS" | "CONNECT_BY_ROOT" => prefixes += 1,
            _ => prefixes = 0,
        }
        deepest = deepest.max(depth + prefixes);
    }
    deepest
}

/// Returns true for a statement whose rows are those of one table in their order, each as it is read.
pub(crate) fn is_scan(tree: &Tree) -> bool {
    let SetExpr::Select(select) = &*tree.0.body else { return false };
    let is_ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let mut has_calls = false;
    for_each_expr(&select.projection, |expr| has_calls |= matches!(expr, Expr::Function(_)));
    let is_plain = is_ungrouped && select.having.is_none() && select.distinct.is_none();
    !has_calls
        && is_plain
        && tree.0.order_by.is_none()
        && select.from.iter().all(|from| from.joins.is_empty())
}

/// Returns an expression that is written as given: a call, a name, a text, or anything in parentheses.
fn raw(text: impl Into<String>) -> Expr {
    Expr::Identifier(Ident::new(text.into()))
}

/// Returns a text as it is written in a statement.
fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the text of a literal.
fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::NationalStringLiteral(text)
            | Value::SingleQuotedRawStringLiteral(text)
            | Value::DoubleQuotedRawStringLiteral(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

/// Returns true for a number, with a sign or not.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_number(expr),
        _ => false,
    }
}

/// Returns true for an operator that compares two values.
fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
    )
}

/// Returns the dotted name of a column.
fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(steps) => {
            Some(steps.iter().map(|step| step.value.as_str()).collect::<Vec<_>>().join("."))
        }
        Expr::Nested(inner) => column_name(inner),
        // A name that is a call in other dialects: `user`. In SQLite, the current time alone has such names.
        Expr::Function(call) if matches!(call.args, FunctionArguments::None) => {
            let name = call.name.to_string();
            (!is_one_of("current_date current_time current_timestamp", &name)).then_some(name)
        }
        _ => None,
    }
}

/// Returns the arguments of a call that are expressions.
fn arguments(call: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &call.args else { return Vec::new() };
    let unnamed = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    unnamed.collect()
}

/// Yields the arguments of a call that are expressions.
fn arguments_mut(call: &mut Function) -> impl Iterator<Item = &mut Expr> {
    let arguments = match &mut call.args {
        FunctionArguments::List(list) => list.args.as_mut_slice(),
        _ => &mut [],
    };
    arguments.iter_mut().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// Returns true for a word that is one of several, separated by spaces.
fn is_one_of(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns true for a call of one of some functions, separated by spaces.
fn is_call_of(call: &Function, names: &str) -> bool {
    is_one_of(names, &call.name.to_string())
}

/// Calls `visit` with every expression of a tree.
fn for_each_expr(node: &impl Visit, mut visit: impl FnMut(&Expr)) {
    let _ = visit_expressions(node, |expr| {
        visit(expr);
        ControlFlow::<()>::Continue(())
    });
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn statements_that_would_take_long_are_not_parsed() {
        for (open, close) in
            [("(", ")"), ("CAST(", ""), ("NOT ", ""), ("CASE WHEN ", ""), ("f(", ")"), ("(SELECT ", ")")]
        {
            for depth in [12, 13, 60, 5_000] {
                let sql = format!("SELECT {}1 {} ::: FROM items", open.repeat(depth), close.repeat(depth));
                assert!(parse(&sql).is_none(), "{open} {depth}");
            }
        }
        let long = format!("SELECT 1{} FROM items", " + 1".repeat(10_000));
        assert!(parse(&long).is_none());
        assert!(parse("SELECT ((((1)))) FROM items WHERE NOT (a AND (b OR NOT c))").is_some());
    }
}
