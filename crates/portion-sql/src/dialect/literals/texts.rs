//! Functions and operators that work on texts: they read a number as it is written in its column, `$2.50` and not 2.5.

use sqlparser::ast::{BinaryOperator, CastKind, Expr, Value};

use super::super::compared_type::ComparedType;
use super::super::{arguments_mut, calls, is_call_of, raw};
use super::{Operands, call_of};

/// Functions that work on texts, under their names in all dialects.
const TEXT_FUNCTIONS: &str = "substr substring mid left right length len char_length character_length trim ltrim rtrim \
    upper lower ucase lcase initcap reverse replace repeat lpad rpad instr strpos charindex locate concat concat_ws \
    group_concat string_agg listagg split_part starts_with startswith ends_with endswith suffix contains contains_substr \
    like glob regexp regexp_count regexp_extract regexp_full_match regexp_like regexp_contains regexp_match regexp_matches \
    regexp_replace regexp_substr translate to_hex ascii unicode hex quote";

impl Operands<'_> {
    /// Writes the operands of functions and operators that work on texts.
    pub(super) fn read_texts(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Function(call) if is_call_of(call, TEXT_FUNCTIONS) => {
                arguments_mut(call).for_each(|argument| self.read_text(argument));
            }
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                self.read_text(left);
                self.read_text(right);
            }
            Expr::BinaryOp { left, op, .. } if is_match(op) => self.read_text(left),
            Expr::Like { expr, .. }
            | Expr::ILike { expr, .. }
            | Expr::RLike { expr, .. }
            | Expr::SimilarTo { expr, .. }
            | Expr::Substring { expr, .. }
            | Expr::Trim { expr, .. } => self.read_text(expr),
            Expr::Position { expr, r#in } => {
                self.read_text(expr);
                self.read_text(r#in);
            }
            Expr::Cast { kind, expr, data_type, .. } if calls::is_text(data_type) => {
                self.read_text(expr);
                // SQLite has no booleans; dialects with `x::text` have.
                if *kind == CastKind::DoubleColon && self.scopes.type_of(expr) == Some(ComparedType::Boolean)
                {
                    let text = raw(format!("CASE {expr} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"));
                    self.replace(expr, text);
                }
            }
            _ => {}
        }
    }

    /// Writes a value of a column so that a number is the text as which it is written.
    fn read_text(&mut self, expr: &mut Expr) {
        if let Some(names) = self.facts(expr).written {
            let names = names.map(|name| Expr::value(Value::SingleQuotedString(name)));
            self.replace(expr, call_of("as_written", std::iter::once(expr.clone()).chain(names)));
        }
    }
}

/// Returns true for an operator that matches a text with a pattern.
fn is_match(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Regexp
            | BinaryOperator::Glob
            | BinaryOperator::PGRegexMatch
            | BinaryOperator::PGRegexIMatch
            | BinaryOperator::PGRegexNotMatch
            | BinaryOperator::PGRegexNotIMatch
    )
}
