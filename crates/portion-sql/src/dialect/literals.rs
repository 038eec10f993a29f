//! Operands that SQLite compares otherwise than they are meant: `ok = 'true'` of booleans, which are 1 and 0; `price = '$2.50'` of
//! amounts, which are numbers; codes without quotes that lose digits as numbers (`zip = 02139`, or more than 18 digits); columns
//! of one meaning and two forms; and numeric dates that a function reads in the order of their column.

mod joins;
mod texts;
mod times;

use std::ops::ControlFlow;

use portion_text::column_form::{ColumnForm, DateOrder};
use portion_text::timestamp::Timestamp;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, InTarget, Query, Select, SelectItem, SetExpr, SetOperator, Value, VisitMut, VisitorMut,
};

use super::compared_type::ComparedType;
use super::scopes::{Scopes, kept_values};
use super::{
    ColumnFacts, ColumnTypes, arguments, arguments_mut, column_name, is_call_of, is_comparison, is_number,
    literal, raw,
};

/// Functions that read dates.
const SQLITE_DATES: &str = "strftime date datetime time julianday unixepoch timediff";
const DATE_READERS: &str = "year quarter month week day hour minute second \
    date_trunc datetrunc timestamp_trunc datetime_trunc date_part datepart datediff date_diff timestamp_diff datetime_diff \
    timestampdiff time_bucket date_bin dateadd timestampadd date_add date_sub adddate subdate last_day monthname dayname to_char date_format \
    to_date to_timestamp epoch unix_timestamp";

/// Returns a call of a function with values.
fn call_of(name: &str, values: impl IntoIterator<Item = Expr>) -> Expr {
    let args = values.into_iter().map(|value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value))).collect();
    Expr::Function(Function {
        name: Ident::new(name).into(),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Returns the call that reads a value as a column of a type does; `None` if such a column is compared as it is.
fn read_as(value: &Expr, of: ComparedType) -> Option<Expr> {
    let name = Expr::value(Value::SingleQuotedString(of.read_as_name()?.to_owned()));
    Some(call_of("read_as", [value.clone(), name]))
}

/// Returns true for a form of dates that depends on an order.
fn is_ordered(form: ColumnForm) -> bool {
    matches!(form, ColumnForm::Time(DateOrder::DayFirst | DateOrder::MonthFirst))
}

/// Returns the expression in `lower(x)`, `CAST(x AS TEXT)` and the like, in which a boolean stays one.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::Trim { expr: inner, .. } => inner,
        Expr::Function(call) => match arguments(call)[..] {
            [inner] if is_call_of(call, "lower upper") => inner,
            _ => expr,
        },
        _ => expr,
    }
}

/// Writes operands in the type of the column that they are compared with; returns true if any is changed.
pub(super) fn rewrite(query: &mut Query, types: &ColumnTypes<'_>) -> bool {
    let mut operands = Operands { types, scopes: Scopes::new(types.compared), is_changed: false };
    let _ = VisitMut::visit(query, &mut operands);
    operands.is_changed
}

/// Returns true for digits that are no number in canonical form, or more than one holds: `02139`, `1.10`.
fn is_code(digits: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match digits.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction) && fraction.ends_with('0'),
        None => is_digits(digits) && (digits.len() > 18 || digits.len() > 1 && digits.starts_with('0')),
    }
}

/// Writes operands, from the outside to the inside.
struct Operands<'a> {
    types: &'a ColumnTypes<'a>,
    scopes: Scopes<'a>,
    is_changed: bool,
}

impl Operands<'_> {
    /// Writes another expression in place of one.
    fn replace(&mut self, expr: &mut Expr, by: Expr) {
        *expr = by;
        self.is_changed = true;
    }

    /// Returns what is known of the column of which an expression is a value.
    fn facts(&self, expr: &Expr) -> ColumnFacts {
        let column = self.scopes.origin(expr);
        column.and_then(|(table, name)| (self.types.facts)(&table, &name)).unwrap_or_default()
    }

    /// Writes values in the type of what they are compared with.
    fn compare<'e>(&mut self, compared: &mut Expr, values: impl IntoIterator<Item = &'e mut Expr>) {
        if let Expr::Tuple(columns) = compared {
            for value in values {
                match value {
                    Expr::Tuple(values) => {
                        columns
                            .iter_mut()
                            .zip(values)
                            .for_each(|(column, value)| self.compare(column, [value]));
                    }
                    Expr::Subquery(query) => self.compare_query(columns, query),
                    _ => {}
                }
            }
            return;
        }
        let values: Vec<&mut Expr> = values.into_iter().collect();
        self.read_arrow(compared, &values);
        self.read_member(compared);
        let inner = unwrapped(compared);
        let is_boolean = self.scopes.type_of(inner) == Some(ComparedType::Boolean);
        let computed = self.computed_time(compared);
        let of = match computed {
            Some(_) => None,
            None if is_boolean => Some(ComparedType::Boolean),
            None => self.scopes.type_of(compared),
        };
        if let Some(time) = computed {
            self.read_time(compared, time);
        }
        for value in values {
            if let Some(time) = computed.filter(|_| literal(value).is_some()) {
                self.read_time(value, time);
            }
            if self.write(of, value) && is_boolean {
                *compared = unwrapped(compared).clone();
            }
        }
    }

    /// Writes a value in a type; returns true if that changes it.
    fn write(&mut self, of: Option<ComparedType>, value: &mut Expr) -> bool {
        let written = of.and_then(|of| self.written(of, value));
        let is_changed = written.is_some();
        written.into_iter().for_each(|written| self.replace(value, written));
        is_changed
    }

    /// Returns what to write in place of a value that is compared with a type; `None` if SQLite compares it as it is meant.
    fn written(&mut self, of: ComparedType, value: &Expr) -> Option<Expr> {
        use ComparedType::{Boolean, Codes, Form, Number, Other, TimeNumbers};
        if let Some(text) = literal(value) {
            return Some(Expr::value(Value::Number(of.number(text)?.to_string(), false)));
        }
        let as_written = value.to_string();
        if matches!(of, Codes { .. }) && is_code(&as_written) {
            return Some(Expr::value(Value::SingleQuotedString(as_written)));
        }
        match (of, self.scopes.type_of(value)?) {
            (Form(ColumnForm::Time(_)), other @ Form(form)) if is_ordered(form) && of != other => {
                read_as(value, other)
            }
            (Form(ColumnForm::Time(_)), TimeNumbers(_)) => Some(call_of("to_timestamp", [value.clone()])),
            (TimeNumbers(_), other @ Form(ColumnForm::Time(_))) => {
                read_as(&read_as(value, other).unwrap_or_else(|| value.clone()), of)
            }
            (TimeNumbers(unit), TimeNumbers(other)) if unit != other => {
                read_as(&call_of("to_timestamp", [value.clone()]), of)
            }
            (Codes { is_numbered: true }, Number | TimeNumbers(_)) => Some(raw(format!("({value} || '')"))),
            (Number | TimeNumbers(_), other @ Codes { is_numbered: true }) => read_as(value, other),
            (Boolean | TimeNumbers(_), Other | Codes { .. }) => read_as(value, of),
            (Form(form), Other | Codes { .. }) if form.is_numeric() => read_as(value, of),
            _ => None,
        }
    }

    /// Writes what a query returns so that it is compared with columns.
    fn compare_query(&mut self, columns: &[Expr], query: &mut Query) {
        let types: Vec<_> = columns.iter().map(|column| self.scopes.type_of(column)).collect();
        self.scopes.enter_query(query);
        self.compare_returned(&types, &mut query.body);
        self.scopes.leave_query();
    }

    fn compare_returned(&mut self, types: &[Option<ComparedType>], body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => {
                self.scopes.enter_select(select);
                for (of, item) in types.iter().zip(&mut select.projection) {
                    if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                        self.write(*of, expr);
                    }
                }
                self.scopes.leave_select();
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.compare_returned(types, left);
                self.compare_returned(types, right);
            }
            SetExpr::Values(values) => {
                for (of, value) in values.rows.iter_mut().flat_map(|row| types.iter().zip(&mut row.content)) {
                    self.write(*of, value);
                }
            }
            SetExpr::Query(query) => self.compare_returned(types, &mut query.body),
            _ => {}
        }
    }

    /// Writes those values of a call that is one of several, or compares them, in the type of the others.
    fn write_kept(&mut self, expr: &mut Expr) {
        let of = self.scopes.type_of(expr);
        let Expr::Function(call) = expr else { return };
        let kept = kept_values(call).unwrap_or_default();
        for (_, value) in arguments_mut(call).enumerate().filter(|(at, _)| kept.contains(at)) {
            self.write(of, value);
        }
    }

    /// Reads `meta -> 'k' = 'a'` as `meta ->> 'k' = 'a'`, because the JSON of a text is in quotes.
    fn read_arrow(&mut self, compared: &mut Expr, values: &[&mut Expr]) {
        let is_plain = |value: &&mut Expr| {
            is_number(value) || literal(value).is_some_and(|text| !text.starts_with(['"', '{', '[']))
        };
        if let Expr::BinaryOp { op: op @ BinaryOperator::Arrow, .. } = compared
            && values.iter().any(is_plain)
        {
            *op = BinaryOperator::LongArrow;
            self.is_changed = true;
        }
    }

    /// Reads a member of an object, `meta ->> 'usd'`, as the column that it is, with its type.
    fn read_member(&mut self, expr: &mut Expr) {
        let (object, path) = match &*expr {
            Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right } => (&**left, &**right),
            Expr::Function(call) if is_call_of(call, "json_extract") => match arguments(call)[..] {
                [object, path] => (object, path),
                _ => return,
            },
            _ => return,
        };
        let Some((path, object)) = literal(path).zip(column_name(object)) else { return };
        let path = path.strip_prefix("$.").unwrap_or(path);
        let is_plain =
            !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let name = format!("{object}.{path}");
        if is_plain && self.scopes.column(&name).is_some() {
            self.replace(expr, Expr::Identifier(Ident::with_quote('"', name)));
        }
    }

    /// Writes the arguments of a function of SQLite so that it reads times of all forms, and numbers as times.
    fn read_sqlite_dates(&mut self, call: &mut Function) {
        let has_unit = arguments(call).iter().any(|argument| {
            literal(argument).is_some_and(|text| ["unixepoch", "auto", "julianday"].contains(&text))
        });
        for expr in arguments_mut(call) {
            self.read_member(expr);
            let is_unread = |text: &&str| !Timestamp::is_plain_iso(text) && Timestamp::parse(text).is_some();
            let in_words = literal(expr).filter(is_unread).map(|_| ColumnForm::Time(DateOrder::Unknown));
            let is_column = self.scopes.origin(expr).is_some();
            let form = self.facts(expr).unread_times.or(in_words);
            let read = match (form, self.scopes.type_of(expr)) {
                (Some(form), _) => read_as(expr, ComparedType::Form(form)),
                (None, Some(ComparedType::TimeNumbers(_))) if !has_unit => {
                    Some(call_of("to_timestamp", [expr.clone()]))
                }
                // A column of plain times is read as it is.
                (None, Some(of @ ComparedType::Form(ColumnForm::Time(_)))) if !is_column => read_as(expr, of),
                (None, Some(ComparedType::Form(ColumnForm::Time(_)))) => None,
                (None, _) if literal(expr).is_none() && !has_unit => {
                    read_as(expr, ComparedType::Form(ColumnForm::Time(DateOrder::Unknown)))
                }
                _ => None,
            };
            read.into_iter().for_each(|read| self.replace(expr, read));
        }
    }

    /// Writes the dates of an argument so that they are read in the order of their column.
    fn read_dates(&mut self, expr: &mut Expr) {
        self.read_member(expr);
        match expr {
            Expr::Nested(inner) => self.read_dates(inner),
            Expr::Function(call) if kept_values(call).is_some() => self.read_arguments(call),
            _ => {
                if let Some(of @ ComparedType::Form(form)) = self.scopes.type_of(expr)
                    && is_ordered(form)
                    && let Some(read) = read_as(expr, of)
                {
                    self.replace(expr, read);
                }
            }
        }
    }

    fn read_arguments(&mut self, call: &mut Function) {
        arguments_mut(call).for_each(|expr| self.read_dates(expr));
    }
}

impl VisitorMut for Operands<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.scopes.enter_query(query);
        self.read_order(query);
        if let SetExpr::SetOperation {
            left, op: SetOperator::Intersect | SetOperator::Except, right, ..
        } = &mut *query.body
        {
            let types: Vec<_> = self.scopes.types_of(left).into_iter().map(Some).collect();
            self.compare_returned(&types, right);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.scopes.leave_query();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.enter_select(select);
        self.write_joins(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.leave_select();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.read_member(expr);
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                // The column of the table that is joined last stays as it is, so that its index is used.
                let (last, first) = if self.scopes.place(left) > self.scopes.place(right) {
                    (left, right)
                } else {
                    (right, left)
                };
                self.compare(last, [&mut **first]);
                self.compare(first, [&mut **last]);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
                for term in [left, right] {
                    self.read_dates(term);
                    self.read_digits(term);
                }
            }
            Expr::BinaryOp { left, op: BinaryOperator::Divide, right } => self.divide(left, right),
            Expr::Like { expr: column, pattern, negated, .. }
            | Expr::ILike { expr: column, pattern, negated, .. }
                if literal(pattern).is_some()
                    && self.scopes.type_of(unwrapped(column)) == Some(ComparedType::Boolean) =>
            {
                self.compare(column, [&mut **pattern]);
                if literal(pattern).is_none() {
                    let op = if *negated { BinaryOperator::NotEq } else { BinaryOperator::Eq };
                    *expr = Expr::BinaryOp { left: column.clone(), op, right: pattern.clone() };
                }
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compare(left, [&mut **right]);
            }
            Expr::In { expr, target: InTarget::List(values), .. } => self.compare(expr, values),
            Expr::In { expr, target: InTarget::Subquery(query), .. } => match &**expr {
                Expr::Tuple(columns) => self.compare_query(columns, query),
                column => self.compare_query(std::slice::from_ref(column), query),
            },
            Expr::Between { expr, low, high, .. } => self.compare(expr, [&mut **low, &mut **high]),
            Expr::Case { .. } => {
                let of = self.scopes.type_of(expr);
                let Expr::Case { operand, conditions, else_result, .. } = expr else {
                    return ControlFlow::Continue(());
                };
                if let Some(operand) = operand {
                    self.compare(operand, conditions.iter_mut().map(|when| &mut when.condition));
                }
                let results = conditions.iter_mut().map(|when| &mut when.result);
                for result in results.chain(else_result.as_deref_mut()) {
                    self.write(of, result);
                }
            }
            // SQLite has columns of names that are calls in other dialects: `user`, `localtime`.
            Expr::Function(_)
                if let Some(name) = column_name(expr)
                    && self.scopes.column(&name).is_some() =>
            {
                *expr = Expr::Identifier(Ident::new(name));
            }
            Expr::Function(call) if kept_values(call).is_some() => {
                self.write_kept(expr);
                if let Expr::Function(call) = expr {
                    self.read_compared_times(call);
                }
            }
            Expr::Function(call) if is_call_of(call, times::COMPARING_SECOND) => {
                self.read_compared_times(call);
            }
            Expr::Extract { expr: date, .. } | Expr::AtTimeZone { timestamp: date, .. } => {
                self.read_dates(date);
            }
            Expr::Cast { expr: date, data_type, .. } if super::calls::is_time(data_type) => {
                self.read_dates(date);
            }
            // With a format, they read the text itself.
            Expr::Function(call) if is_call_of(call, "to_date to_timestamp") && arguments(call).len() > 1 => {
            }
            Expr::Function(call) if is_call_of(call, SQLITE_DATES) => self.read_sqlite_dates(call),
            Expr::Function(call) if is_call_of(call, DATE_READERS) => self.read_arguments(call),
            _ => {}
        }
        self.read_texts(expr);
        ControlFlow::Continue(())
    }
}
