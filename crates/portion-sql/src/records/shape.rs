//! Derives the columns from the fields of records, and names them.

use std::cmp::Reverse;

use portion_text::column_form::FormLearner;
use portion_text::names::UniqueNames;

use super::ColumnRole;
use super::tree::{ChildField, FieldNode, FieldTree};
use crate::cell::ValueKinds;
use crate::column::ColumnDef;

/// Maximum fields that are columns; `SQLite` allows 2,000.
pub(super) const MAX_COLUMNS: usize = 1_900;
/// Minimum fields of an object that may be a map, whose keys are values rather than names.
const MAP_MIN_FIELDS: usize = 16;
/// On average, each field of a map occurs in at most one of this many objects.
const MAP_SHARE: usize = 8;

/// The columns of records and their content.
pub(super) struct RecordShape {
    pub(super) field_tree: FieldTree,
    pub(super) columns: Vec<ColumnDef>,
    pub(super) roles: Vec<ColumnRole>,
    pub(super) dropped_field_count: usize,
}

/// Facts about the items other than their fields.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemStats {
    pub(super) item_count: usize,
    /// True if the items have keys.
    pub(super) has_keys: bool,
    /// Number of items that are not objects, and their kinds.
    pub(super) scalar_count: usize,
    pub(super) scalar_kinds: ValueKinds,
    pub(super) scalar_learner: FormLearner,
}

/// Builds the columns for the fields of a tree. Objects are flattened: for `price: {total}` the column is
/// `price.total`, and `price` is a hidden column.
pub(super) fn build_shape(learnt: FieldTree, others: &ItemStats) -> RecordShape {
    let (tree, dropped) = trim_fields(learnt);
    let mut names = UniqueNames::default();
    let (mut columns, mut roles) = (Vec::new(), Vec::new());
    let mut fields = Vec::new();
    let mut paths: Vec<String> = tree.nodes.iter().skip(1).map(|node| node.path.clone()).collect();
    UniqueNames::number_variants(&mut paths);
    for ((at, node), path) in tree.nodes.iter().enumerate().skip(1).zip(paths) {
        let column =
            ColumnDef::new(names.unique(&path), node.kinds, node.present_count).with_form(&node.learner);
        let other = ValueKinds::NUMERIC.union(ValueKinds::TEXT).union(ValueKinds::ARRAY);
        let through = !node.children.is_empty() && !node.kinds.intersects(other);
        fields.push((if through { column.into_hidden() } else { column }, ColumnRole::Field(at as u32)));
    }
    if others.has_keys {
        let mut keys = ColumnDef::new(names.unique_builtin("_key"), ValueKinds::TEXT, others.item_count);
        keys.has_number_codes = true;
        columns.push(keys);
        roles.push(ColumnRole::Key);
    }
    for (column, role) in fields {
        columns.push(column);
        roles.push(role);
    }
    if others.scalar_count > 0 {
        let values = ColumnDef::new(names.unique_builtin("value"), others.scalar_kinds, others.scalar_count);
        columns.push(values.with_form(&others.scalar_learner));
        roles.push(ColumnRole::Value);
    }
    ColumnDef::push_record_columns(&mut columns, &mut names, others.item_count);
    roles.extend([ColumnRole::Record, ColumnRole::Index]);
    RecordShape { field_tree: tree, columns, roles, dropped_field_count: dropped }
}

/// Removes the fields inside maps, and the rarest fields beyond the column limit. Returns the tree, its
/// nodes in the order of columns, and the number of fields removed for the limit.
fn trim_fields(mut learnt: FieldTree) -> (FieldTree, usize) {
    let maps: Vec<usize> = (1..learnt.nodes.len()).filter(|at| is_map(&learnt, *at)).collect();
    for at in maps {
        if let Some(node) = learnt.nodes.get_mut(at) {
            node.children.clear();
            node.child_by_raw_key.clear();
        }
    }
    let mut order = preorder(&learnt);
    let fields = order.len();
    if fields > MAX_COLUMNS + 1 {
        let mut kept: Vec<(usize, u32)> = order.iter().copied().enumerate().collect();
        // A field is never rarer than its children and comes before them, so the kept fields stay
        // connected.
        kept.sort_by_key(|(position, at)| {
            (*at != 0, Reverse(learnt.nodes[*at as usize].present_count), *position)
        });
        kept.truncate(MAX_COLUMNS + 1);
        kept.sort_unstable();
        order = kept.into_iter().map(|(_, at)| at).collect();
    }
    let mut number = vec![None; learnt.nodes.len()];
    for (new, old) in order.iter().enumerate() {
        number[*old as usize] = Some(new as u32);
    }
    let dropped = fields - order.len();
    let nodes =
        order.iter().map(|at| renumber_children(std::mem::take(&mut learnt.nodes[*at as usize]), &number));
    (FieldTree { nodes: nodes.collect() }, dropped)
}

fn is_map(tree: &FieldTree, at: usize) -> bool {
    let node = &tree.nodes[at];
    let present: usize =
        node.children.iter().map(|below| tree.nodes[below.node as usize].present_count).sum();
    node.children.len() >= MAP_MIN_FIELDS
        && present.saturating_mul(MAP_SHARE) < node.children.len().saturating_mul(node.object_count)
}

/// Returns all reachable nodes, each before its children.
fn preorder(tree: &FieldTree) -> Vec<u32> {
    let mut order = Vec::new();
    let mut open = vec![0_u32];
    while let Some(at) = open.pop() {
        order.push(at);
        open.extend(tree.nodes[at as usize].children.iter().rev().map(|below| below.node));
    }
    order
}

fn renumber_children(mut node: FieldNode, number: &[Option<u32>]) -> FieldNode {
    let position: Vec<Option<u32>> = {
        let mut next = 0;
        let kept = node.children.iter().map(|below| number[below.node as usize].map(|_| (next, next += 1).0));
        kept.collect()
    };
    node.children = node
        .children
        .into_iter()
        .filter_map(|below| Some(ChildField { node: number[below.node as usize]?, ..below }))
        .collect();
    node.child_by_raw_key.retain(|_, at| match position.get(*at as usize) {
        Some(Some(new)) => {
            *at = *new;
            true
        }
        _ => false,
    });
    node
}
