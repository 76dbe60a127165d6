//! Merges one manifest file over another: tables key by key, lists of tables by `id`; everything else is
//! replaced. An entry of such a list with `disabled = true` is removed.

use toml::{Table, Value};

/// Merges `over` over `base`.
pub(crate) fn merge_into(base: &mut Table, over: Table) {
    for (key, value) in over {
        match base.get_mut(&key) {
            Some(below) => lay_value(below, value),
            None => {
                base.insert(key, value);
            }
        }
    }
}

/// Removes every entry of a list by `id` that has `disabled = true`, and the key itself. A patch for some
/// versions keeps such entries: they apply to what the patch is merged over.
pub(crate) fn without_disabled(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(_) if key == "patch" => {}
            Value::Table(inner) => without_disabled(inner),
            Value::Array(list) => {
                list.retain(|entry| !is_disabled(entry));
                for entry in list.iter_mut().filter_map(Value::as_table_mut) {
                    if entry.contains_key("id") {
                        entry.remove("disabled");
                    }
                    without_disabled(entry);
                }
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => {}
        }
    }
}

fn lay_value(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Table(base), Value::Table(over)) => merge_into(base, over),
        (Value::Array(base), Value::Array(over)) if are_named(base) && are_named(&over) => {
            lay_named(base, over)
        }
        (below, above) => *below = above,
    }
}

/// Merges entries of the same id in place; new ones come first, so that they are tried before the old ones.
fn lay_named(base: &mut Vec<Value>, over: Vec<Value>) {
    let mut new = Vec::new();
    for entry in over {
        match base.iter_mut().find(|below| id(below) == id(&entry)) {
            Some(below) => lay_value(below, entry),
            None => new.push(entry),
        }
    }
    base.splice(0..0, new);
}

fn are_named(list: &[Value]) -> bool {
    list.iter().all(|entry| id(entry).is_some())
}

fn id(entry: &Value) -> Option<&str> {
    entry.get("id")?.as_str()
}

fn is_disabled(entry: &Value) -> bool {
    id(entry).is_some() && entry.get("disabled").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn laid(base: &str, over: &str) -> Table {
        let mut table: Table = base.parse().unwrap();
        merge_into(&mut table, over.parse().unwrap());
        without_disabled(&mut table);
        table
    }

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn tables_merge_key_by_key_and_plain_values_are_replaced() {
        let merged = laid("a = 1\nl = [1, 2]\n[t]\nx = 1\ny = 2", "a = 5\nl = [9]\n[t]\ny = 3\n[u]\nz = 1");
        assert_eq!(merged, table("a = 5\nl = [9]\n[t]\nx = 1\ny = 3\n[u]\nz = 1"));
    }

    #[test]
    fn lists_of_tables_merge_by_id_and_new_entries_come_first() {
        let merged = laid(
            "[[r]]\nid = 'a'\np = 1\nq = 1\n[[r]]\nid = 'b'\np = 2",
            "[[r]]\nid = 'c'\np = 3\n[[r]]\nid = 'a'\np = 9",
        );
        assert_eq!(
            merged,
            table("[[r]]\nid = 'c'\np = 3\n[[r]]\nid = 'a'\np = 9\nq = 1\n[[r]]\nid = 'b'\np = 2")
        );
    }

    #[test]
    fn a_disabled_entry_is_left_out() {
        let merged =
            laid("[[r]]\nid = 'a'\n[[r]]\nid = 'b'\ndisabled = false", "[[r]]\nid = 'a'\ndisabled = true");
        assert_eq!(merged, table("[[r]]\nid = 'b'"));
    }

    #[test]
    fn a_list_without_ids_is_replaced() {
        assert_eq!(laid("[[r]]\nx = 1", "[[r]]\nx = 2"), table("[[r]]\nx = 2"));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            any::<bool>().prop_map(Value::Boolean),
            ".{0,6}".prop_map(Value::String)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let key = prop_oneof!["[a-c]", Just("id".to_owned()), Just("disabled".to_owned())];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|pairs| Value::Table(pairs.into_iter().collect())),
            ]
        })
    }

    fn any_table() -> impl Strategy<Value = Table> {
        prop::collection::vec(("[a-c]", any_value()), 0..4).prop_map(|pairs| pairs.into_iter().collect())
    }

    proptest! {
        #[test]
        fn laying_a_table_twice_is_laying_it_once(base in any_table(), over in any_table()) {
            let mut once = base;
            merge_into(&mut once, over.clone());
            let mut twice = once.clone();
            merge_into(&mut twice, over);
            without_disabled(&mut twice);
            without_disabled(&mut once);
            prop_assert_eq!(once, twice);
        }
    }
}
