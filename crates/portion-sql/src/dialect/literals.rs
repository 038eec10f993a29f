//! Operands that SQLite compares otherwise than they are meant: `ok = 'true'` of booleans, which are 1 and 0; `price = '$2.50'` of
//! amounts, which are numbers; codes without quotes that lose digits as numbers (`zip = 02139`, or more than 18 digits); columns
//! of one meaning and two forms; and numeric dates that a function reads in the order of their column.

mod joins;
mod texts;

pub(crate) use texts::as_given;

use std::collections::HashMap;
use std::ops::ControlFlow;

use portion_text::column_form::{ColumnForm, DateOrder};
use portion_text::timestamp::Timestamp;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget, Query, Select,
    SelectItem, SetExpr, SetOperator, TableFactor, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::compared_type::{ComparedType, Find};
use super::{ColumnTypes, arguments, column_name, literal, raw};

/// Functions that return a value of their first argument, and those that read dates.
const KEEPERS: &str = "min max lag lead first_value last_value any_value coalesce ifnull nullif";
const SQLITE_DATES: &str = "strftime date datetime time julianday unixepoch timediff";
const TIME_WRITERS: &str = "date datetime now current_date current_timestamp localtimestamp getdate to_date to_timestamp \
    date_trunc datetrunc timestamp_trunc date_add date_sub dateadd adddate subdate last_day make_date today";
const DATE_READERS: &str = "year quarter month week day hour minute second \
    date_trunc datetrunc timestamp_trunc datetime_trunc date_part datepart datediff date_diff timestamp_diff datetime_diff \
    timestampdiff dateadd timestampadd date_add date_sub adddate subdate last_day monthname dayname to_char date_format \
    to_date to_timestamp epoch unix_timestamp";

fn is_one_of(call: &Function, names: &str) -> bool {
    let name = call.name.to_string();
    names.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(&name))
}

/// Returns true for an expression that is the text of a time: `date('now')`, `timestamp '2024-01-31 10:00'`.
fn is_time_text(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_time_text(inner),
        Expr::TypedString(_) => true,
        Expr::Cast { data_type, .. } => super::calls::is_time(data_type),
        Expr::Function(call) => is_one_of(call, TIME_WRITERS),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, .. } => is_time_text(left),
        _ => false,
    }
}

/// Returns the call that reads a value as a column of a form does.
fn read_as(value: &Expr, form: ColumnForm) -> Expr {
    raw(format!("read_as({value}, '{form:?}')"))
}

/// Returns the form by the name in a call of `read_as`.
pub(crate) fn form_of_name(name: &str) -> Option<ColumnForm> {
    let forms = [ColumnForm::Amount, ColumnForm::DecimalComma];
    let times = [DateOrder::Unknown, DateOrder::DayFirst, DateOrder::MonthFirst].map(ColumnForm::Time);
    forms.into_iter().chain(times).find(|form| format!("{form:?}") == name)
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
            [inner] if ["lower", "upper"].contains(&&*call.name.to_string().to_ascii_lowercase()) => inner,
            _ => expr,
        },
        _ => expr,
    }
}

/// Writes operands in the type of the column that they are compared with; returns true if any is changed.
pub(super) fn rewrite(query: &mut Query, types: &ColumnTypes<'_>) -> bool {
    let mut sources = Sources(HashMap::new());
    let _ = Visit::visit(query, &mut sources);
    let type_of = types.compared;
    let mut operands = Operands { types, type_of, sources: sources.0, scopes: Vec::new(), is_changed: false };
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

/// The aliases of the tables of a SELECT, in lower case.
type Scope = Vec<String>;

fn scope_of(select: &Select) -> Scope {
    let joined = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
    joined.filter_map(alias_of).collect()
}

/// Returns the alias of a table in lower case, or its name.
fn alias_of(table: &TableFactor) -> Option<String> {
    match table {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.value.to_lowercase())
        }
        TableFactor::Table { name, .. } => {
            let parts =
                name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.to_lowercase());
            Some(parts.collect::<Vec<_>>().join("."))
        }
        _ => None,
    }
}

/// The columns that inner statements return, by their names and by `alias.name`, in lower case; each with its name there.
struct Sources(HashMap<String, (Scope, String)>);

impl Sources {
    fn add(&mut self, alias: &str, query: &Query) {
        let SetExpr::Select(select) = &*query.body else { return };
        for item in &select.projection {
            let (expr, name) = match item {
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
                SelectItem::UnnamedExpr(expr) => (expr, column_name(expr)),
                _ => continue,
            };
            if let (Some(column), Some(name)) = (source(expr), name) {
                let name = name.rsplit('.').next().unwrap_or(&name).to_lowercase();
                self.0.insert(format!("{alias}{name}"), (scope_of(select), column));
            }
        }
    }
}

/// Returns the column of which an expression is a value.
fn source(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(call) if is_one_of(call, KEEPERS) => source(arguments(call).first()?),
        _ => column_name(expr),
    }
}

impl Visitor for Sources {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.add("", query);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add(&format!("{}.", cte.alias.name.value.to_lowercase()), &cte.query);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, alias: Some(alias), .. } = table {
            self.add(&format!("{}.", alias.name.value.to_lowercase()), subquery);
        }
        ControlFlow::Continue(())
    }
}

struct Operands<'a> {
    type_of: &'a Find<'a, ComparedType>,
    types: &'a ColumnTypes<'a>,
    sources: HashMap<String, (Scope, String)>,
    /// The scopes around an expression, the innermost last.
    scopes: Vec<Scope>,
    is_changed: bool,
}

impl Operands<'_> {
    fn compare<'e>(&mut self, column: &mut Expr, values: impl IntoIterator<Item = &'e mut Expr>) {
        let of = self.type_of(unwrapped(column));
        if of != ComparedType::Boolean && source(column).is_none() {
            return;
        }
        for value in values {
            if matches!(of, ComparedType::TimeNumbers(_)) && is_time_text(value) {
                *column = raw(format!("to_timestamp({column})"));
                self.is_changed = true;
                return;
            }
            if let Some(written) = self.written(of, value) {
                *value = written;
                self.is_changed = true;
                if of == ComparedType::Boolean {
                    *column = unwrapped(column).clone();
                }
            }
        }
    }

    /// Returns what to write in place of a value that is compared with a column; `None` if SQLite compares it as it is meant.
    fn written(&self, of: ComparedType, value: &Expr) -> Option<Expr> {
        let as_written = value.to_string();
        match (of, literal(value)) {
            (ComparedType::Boolean, Some(text)) => {
                let number = ["false", "true"].iter().position(|word| text.eq_ignore_ascii_case(word))?;
                Some(raw(number.to_string()))
            }
            (ComparedType::Form(form), Some(text)) => Some(raw(form.number(text)?.to_string())),
            (ComparedType::TimeNumbers(unit), Some(text)) => {
                Some(raw(unit.number(Timestamp::parse(text)?).to_string()))
            }
            (_, Some(_)) => None,
            (ComparedType::Boolean, None) if as_written.starts_with(':') => {
                Some(raw(format!("to_boolean({as_written})")))
            }
            (ComparedType::Form(form), None) if as_written.starts_with(':') && form.is_numeric() => {
                Some(read_as(value, form))
            }
            (ComparedType::Codes { .. }, None) if is_code(&as_written) => {
                Some(Expr::value(Value::SingleQuotedString(as_written)))
            }
            _ => match (of, self.type_of(value)) {
                (ComparedType::Form(ColumnForm::Time(_)), ComparedType::Form(form))
                    if is_ordered(form) && of != ComparedType::Form(form) =>
                {
                    Some(read_as(value, form))
                }
                (ComparedType::Form(ColumnForm::Time(_)), ComparedType::TimeNumbers(_)) => {
                    Some(raw(format!("to_timestamp({value})")))
                }
                (
                    ComparedType::Codes { is_numbered: true },
                    ComparedType::Number | ComparedType::TimeNumbers(_),
                ) => Some(raw(format!("({value} || '')"))),
                (
                    ComparedType::Number | ComparedType::TimeNumbers(_),
                    ComparedType::Codes { is_numbered: true },
                ) => Some(raw(format!("read_as({value}, 'code')"))),
                _ => None,
            },
        }
    }

    /// Returns the type of an expression that is a value of a column.
    fn type_of(&self, expr: &Expr) -> ComparedType {
        self.resolve(expr, self.type_of).unwrap_or(ComparedType::Other)
    }

    /// Finds a fact about the column of which an expression is a value.
    fn resolve<T>(&self, expr: &Expr, find: &Find<'_, T>) -> Option<T> {
        let name = source(expr)?;
        let known = self.scopes.iter().rev().find_map(|scope| self.find_in(scope, &name, 0, find));
        let tail = name.rsplit('.').next().unwrap_or(&name).to_lowercase();
        let inner = || {
            let (scope, column) = self.sources.get(&tail).filter(|(_, column)| *column != name)?;
            self.find_in(scope, column, 0, find)
        };
        known.or_else(|| find("", &name)).or_else(inner)
    }

    /// Finds a fact about a column of one of the tables of a scope.
    fn find_in<T>(&self, scope: &Scope, name: &str, depth: usize, find: &Find<'_, T>) -> Option<T> {
        let lower = name.to_lowercase();
        scope.iter().filter(|_| depth < MAX_SOURCES).find_map(|alias| {
            let column = lower.strip_prefix(alias).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&lower);
            match self.sources.get(&format!("{alias}.{column}")) {
                Some((scope, column)) => self.find_in(scope, column, depth + 1, find),
                None => find(alias, column),
            }
        })
    }

    /// Returns the types of the columns that a SELECT returns.
    fn selected_types(&mut self, select: &Select) -> Vec<ComparedType> {
        self.scopes.push(scope_of(select));
        let types = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => self.type_of(expr),
            _ => ComparedType::Other,
        });
        let types = types.collect();
        self.scopes.pop();
        types
    }

    /// Writes the column that a SELECT returns so that it is compared with values of a type.
    fn compare_selected(&mut self, of: &[ComparedType], select: &mut Select) {
        self.scopes.push(scope_of(select));
        for (of, item) in of.iter().zip(&mut select.projection) {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                && let Some(written) = self.written(*of, expr)
            {
                *expr = written;
                self.is_changed = true;
            }
        }
        self.scopes.pop();
    }

    /// Writes the arguments of a function of SQLite so that it reads times of all forms, and numbers as times.
    fn read_sqlite_dates(&mut self, call: &mut Function) {
        let has_unit = arguments(call).iter().any(|argument| {
            literal(argument).is_some_and(|text| ["unixepoch", "auto", "julianday"].contains(&text))
        });
        let FunctionArguments::List(list) = &mut call.args else { return };
        for argument in &mut list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { continue };
            let is_unread = |text: &&str| !Timestamp::is_plain_iso(text) && Timestamp::parse(text).is_some();
            let in_words = || literal(expr).filter(is_unread).map(|_| ColumnForm::Time(DateOrder::Unknown));
            if let Some(form) = self.resolve(expr, self.types.unread_times).or_else(in_words) {
                *expr = read_as(expr, form);
            } else if !has_unit && matches!(self.type_of(expr), ComparedType::TimeNumbers(_)) {
                *expr = raw(format!("to_timestamp({expr})"));
            } else {
                continue;
            }
            self.is_changed = true;
        }
    }

    /// Writes the dates of an argument so that they are read in the order of their column.
    fn read_dates(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Nested(inner) => self.read_dates(inner),
            Expr::Function(call) if is_one_of(call, KEEPERS) => self.read_arguments(call),
            _ => {
                if let ComparedType::Form(form) = self.type_of(expr)
                    && is_ordered(form)
                {
                    *expr = read_as(expr, form);
                    self.is_changed = true;
                }
            }
        }
    }

    fn read_arguments(&mut self, call: &mut Function) {
        let FunctionArguments::List(list) = &mut call.args else { return };
        for argument in &mut list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
                self.read_dates(expr);
            }
        }
    }
}

/// Most statements inside each other through which a column is followed.
const MAX_SOURCES: usize = 8;

impl VisitorMut for Operands<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::SetOperation { left, op: SetOperator::Intersect | SetOperator::Except, right, .. } =
            &mut *query.body
            && let (SetExpr::Select(left), SetExpr::Select(right)) = (&**left, &mut **right)
        {
            let types = self.selected_types(left);
            self.compare_selected(&types, right);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.push(scope_of(select));
        self.write_joins(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.compare(left, [&mut **right]);
                self.compare(right, [&mut **left]);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
                self.read_dates(left);
                self.read_dates(right);
            }
            Expr::Like { expr: column, pattern, negated, .. }
            | Expr::ILike { expr: column, pattern, negated, .. }
                if self.type_of(unwrapped(column)) == ComparedType::Boolean =>
            {
                let written = pattern.to_string();
                self.compare(column, [&mut **pattern]);
                if pattern.to_string() != written {
                    let op = if *negated { BinaryOperator::NotEq } else { BinaryOperator::Eq };
                    *expr = Expr::BinaryOp { left: column.clone(), op, right: pattern.clone() };
                }
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compare(left, [&mut **right]);
            }
            Expr::In { expr, target: InTarget::List(values), .. } => self.compare(expr, values),
            Expr::In { expr, target: InTarget::Subquery(query), .. } => {
                let of = self.type_of(expr);
                if let SetExpr::Select(select) = &mut *query.body {
                    let selected = self.selected_types(select);
                    self.compare_selected(&[of], select);
                    if let ([ComparedType::Form(ColumnForm::Time(_))], ComparedType::TimeNumbers(_)) =
                        (&selected[..], of)
                    {
                        **expr = raw(format!("to_timestamp({expr})"));
                        self.is_changed = true;
                    }
                }
            }
            Expr::Between { expr, low, high, .. } => self.compare(expr, [&mut **low, &mut **high]),
            Expr::Case { operand: Some(operand), conditions, .. } => {
                self.compare(operand, conditions.iter_mut().map(|when| &mut when.condition));
            }
            Expr::Extract { expr: date, .. } | Expr::AtTimeZone { timestamp: date, .. } => {
                self.read_dates(date);
            }
            Expr::Cast { expr: date, data_type, .. } if super::calls::is_time(data_type) => {
                self.read_dates(date);
            }
            // With a format, they read the text itself.
            Expr::Function(call) if is_one_of(call, "to_date to_timestamp") && arguments(call).len() > 1 => {}
            Expr::Function(call) if is_one_of(call, SQLITE_DATES) => self.read_sqlite_dates(call),
            Expr::Function(call) if is_one_of(call, DATE_READERS) => self.read_arguments(call),
            _ => {}
        }
        self.read_texts(expr);
        ControlFlow::Continue(())
    }
}

/// Returns true for an operator that compares two values.
pub(super) fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Spaceship
    )
}
