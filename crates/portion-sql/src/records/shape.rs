//! From fields to columns: which are worth one, and what they are called.

use std::cmp::Reverse;

use super::Role;
use super::tree::{Below, Node, Tree};
use crate::column::{Column, Kinds, Names};

/// Fields that are columns; `SQLite` allows 2,000.
pub(super) const MOST: usize = 1_900;
/// Fields of an object from which it may be a map, whose keys are values rather than names.
const MAP_FROM: usize = 64;
/// What each field of a map has at most, of the records that have the map: one in so many.
const MAP_SHARE: usize = 4;

/// The columns of records, with what each shows.
pub(super) struct Shape {
    pub(super) tree: Tree,
    pub(super) columns: Vec<Column>,
    pub(super) roles: Vec<Role>,
    pub(super) dropped: usize,
}

/// What is known of the items beside their fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    pub(super) items: usize,
    /// Whether they have keys.
    pub(super) keys: bool,
    /// How many are no objects, and what those are.
    pub(super) values: usize,
    pub(super) kinds: Kinds,
}

/// The columns for the fields of a tree. One-column objects are seen through: of `price: {total}` the column is
/// `price.total`, and `price` is there for who asks for it.
pub(super) fn of(learnt: Tree, others: Others) -> Shape {
    let (tree, dropped) = trimmed(learnt);
    let mut names = Names::default();
    let (mut columns, mut roles) = (Vec::new(), Vec::new());
    let mut fields = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate().skip(1) {
        let column = Column::new(names.unique(&node.path), node.kinds, node.present);
        let other = Kinds::NUMERIC.and(Kinds::TEXT).and(Kinds::ARRAY);
        let through = !node.below.is_empty() && !node.kinds.any(other);
        fields.push((if through { column.hidden() } else { column }, Role::Field(at as u32)));
    }
    if others.keys {
        columns.push(Column::new(names.ours("_key"), Kinds::TEXT, others.items));
        roles.push(Role::Key);
    }
    for (column, role) in fields {
        columns.push(column);
        roles.push(role);
    }
    if others.values > 0 {
        columns.push(Column::new(names.ours("value"), others.kinds, others.values));
        roles.push(Role::Value);
    }
    finish(&mut names, others.items, &mut columns, &mut roles);
    Shape { tree, columns, roles, dropped }
}

/// The columns that every list has: the record, and its place.
pub(super) fn finish(names: &mut Names, items: usize, columns: &mut Vec<Column>, roles: &mut Vec<Role>) {
    let mut record = Column::new(names.ours("item"), Kinds::OBJECT, items).hidden();
    record.record = true;
    columns.push(record);
    roles.push(Role::Record);
    columns.push(Column::new(names.ours("_index"), Kinds::INTEGER, items).hidden());
    roles.push(Role::Index);
}

/// The tree without the insides of maps and without the rarest of too many fields, its nodes in the order of columns;
/// and how many fields that left out.
fn trimmed(mut learnt: Tree) -> (Tree, usize) {
    let maps: Vec<usize> = (1..learnt.nodes.len()).filter(|at| is_map(&learnt, *at)).collect();
    for at in maps {
        if let Some(node) = learnt.nodes.get_mut(at) {
            node.below.clear();
            node.places.clear();
        }
    }
    let mut order = in_order(&learnt);
    let fields = order.len();
    if fields > MOST + 1 {
        let mut kept: Vec<(usize, u32)> = order.iter().copied().enumerate().collect();
        // A field is never rarer than one below it, and comes before it: what is kept hangs together.
        kept.sort_by_key(|(place, at)| (*at != 0, Reverse(learnt.nodes[*at as usize].present), *place));
        kept.truncate(MOST + 1);
        kept.sort_unstable();
        order = kept.into_iter().map(|(_, at)| at).collect();
    }
    let mut number = vec![None; learnt.nodes.len()];
    for (new, old) in order.iter().enumerate() {
        number[*old as usize] = Some(new as u32);
    }
    let dropped = fields - order.len();
    let nodes = order.iter().map(|at| renumbered(std::mem::take(&mut learnt.nodes[*at as usize]), &number));
    (Tree { nodes: nodes.collect() }, dropped)
}

fn is_map(tree: &Tree, at: usize) -> bool {
    let node = &tree.nodes[at];
    let present: usize = node.below.iter().map(|below| tree.nodes[below.node as usize].present).sum();
    node.below.len() >= MAP_FROM
        && present.saturating_mul(MAP_SHARE) < node.below.len().saturating_mul(node.opened)
}

/// All nodes that can be reached, each before those below it.
fn in_order(tree: &Tree) -> Vec<u32> {
    let mut order = Vec::new();
    let mut open = vec![0_u32];
    while let Some(at) = open.pop() {
        order.push(at);
        open.extend(tree.nodes[at as usize].below.iter().rev().map(|below| below.node));
    }
    order
}

fn renumbered(mut node: Node, number: &[Option<u32>]) -> Node {
    let place: Vec<Option<u32>> = {
        let mut next = 0;
        let kept = node.below.iter().map(|below| number[below.node as usize].map(|_| (next, next += 1).0));
        kept.collect()
    };
    node.below = node
        .below
        .into_iter()
        .filter_map(|below| Some(Below { node: number[below.node as usize]?, ..below }))
        .collect();
    node.places.retain(|_, at| match place.get(*at as usize) {
        Some(Some(new)) => {
            *at = *new;
            true
        }
        _ => false,
    });
    node
}
