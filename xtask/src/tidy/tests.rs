//! Every rule shown to fail on what it forbids and to be silent on what it does not, then the repository itself.

use super::scan::Source;
use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree { files: files.iter().map(|(path, text)| File::new(path, text)).collect() }
}

/// Returns the rules that fire on one file placed at `path`, without those that concern the whole tree.
fn rules_at(path: &str, text: &str) -> Vec<&'static str> {
    let tree = tree(&[(path, text)]);
    let whole_tree = ["protocol", "unreached", "methods", "fields", "shared-name"];
    check(&tree).into_iter().map(|finding| finding.rule).filter(|rule| !whole_tree.contains(rule)).collect()
}

/// Returns the rules that fire on a shipped file of the engine with this body.
fn rules(body: &str) -> Vec<&'static str> {
    rules_at("crates/engine/src/waits.rs", &format!("//! Owns waits.\n{body}"))
}

#[test]
fn a_clean_file_has_no_findings() {
    assert_eq!(rules("fn answer() -> u8 {\n    42\n}\n"), [""; 0]);
}

#[test]
fn a_file_must_begin_with_what_it_owns() {
    assert_eq!(rules_at("crates/engine/src/a.rs", "fn a() {}\n"), ["first-line"]);
    assert_eq!(rules_at("crates/engine/tests/a.rs", "//!\nfn a() {}\n"), ["first-line"]);
    assert_eq!(rules_at("fuzz/fuzz_targets/a.rs", "// Owns.\n"), ["first-line"]);
}

#[test]
fn unwrap_is_forbidden_in_code_that_ships_only() {
    assert_eq!(rules("fn a() { b().unwrap(); }\n"), ["unwrap"]);
    assert_eq!(rules("fn a() { b().unwrap_or(3); } // never .unwrap()\n"), [""; 0]);
    assert_eq!(rules("#[cfg(test)]\nmod tests {\n    fn a() { b().unwrap(); }\n}\n"), [""; 0]);
    assert_eq!(rules("#[cfg(test)]\nmod tests {}\nfn a() { b().unwrap(); }\n"), ["unwrap"]);
    assert_eq!(rules_at("crates/engine/tests/a.rs", "//! Facts.\nfn a() { b().unwrap(); }\n"), [""; 0]);
}

#[test]
fn text_in_strings_and_comments_is_not_code() {
    assert_eq!(rules("const A: &str = \".unwrap() todo!\";\n/* todo!() /* nested */ todo!() */\n"), [""; 0]);
    assert_eq!(
        rules("const A: &str = r#\"\"todo!\"\"#; const B: char = '\"'; fn a() { todo!() }\n"),
        ["unfinished"]
    );
    assert_eq!(rules("fn a<'a>(b: &'a str) { todo!() }\n"), ["unfinished"]);
    assert_eq!(rules("const A: &[u8] = br\"\\\"; fn a() { todo!() }\n"), ["unfinished"]);
}

#[test]
fn unbounded_queues_unfinished_code_ignored_tests_and_allow_are_forbidden_everywhere() {
    for path in ["crates/engine/src/a.rs", "crates/engine/tests/a.rs"] {
        let with = |body: &str| rules_at(path, &format!("//! Owns a.\n{body}\n"));
        assert_eq!(with("fn a() { mpsc::unbounded_channel(); }"), ["unbounded"]);
        assert_eq!(with("fn a() { unimplemented!() }"), ["unfinished"]);
        assert_eq!(with("#[ignore = \"slow\"]\nfn a() {}"), ["ignored-test"]);
        assert_eq!(with("#[allow(dead_code)]\nfn a() {}"), ["allow"]);
        assert_eq!(with("#![allow(dead_code)]\nfn a() {}"), ["allow"]);
        assert_eq!(with("#[expect(dead_code, reason = \"kept for the wire\")]\nfn a() {}"), [""; 0]);
    }
}

#[test]
fn sleeping_is_forbidden_and_in_tests_needs_a_reason() {
    assert_eq!(rules("fn a() { std::thread::sleep(B); }\n"), ["sleep"]);
    let test = |body: &str| rules_at("crates/engine/tests/a.rs", &format!("//! Facts.\n{body}\n"));
    assert_eq!(test("fn a() { std::thread::sleep(B); }"), ["sleep"]);
    let reasoned = "#[expect(clippy::disallowed_methods, reason = \"time is under test\")]\nfn a() { thread::sleep(B); }";
    assert_eq!(test(reasoned), [""; 0]);
}

#[test]
fn an_assertion_may_not_limit_how_long_something_takes() {
    let test = |body: &str| rules_at("crates/engine/tests/a.rs", &format!("//! Facts.\n{body}\n"));
    assert_eq!(test("fn a() {\n    assert!(start.elapsed() < LIMIT);\n}"), ["wall-time"]);
    assert_eq!(
        test("fn a() {\n    assert!(\n        start.elapsed() < LIMIT,\n        \"late\"\n    );\n}"),
        ["wall-time"]
    );
    assert_eq!(test("fn a() {\n    assert_eq!(start.elapsed().as_secs(), 1);\n}"), ["wall-time"]);
    assert_eq!(test("fn a() {\n    assert!(start.elapsed() >= PAUSE, \"{:?}\", b);\n}"), [""; 0]);
    assert_eq!(test("fn a() {\n    assert!(b);\n    let c = start.elapsed() < LIMIT;\n}"), [""; 0]);
}

#[test]
fn unsafe_is_the_holders_alone() {
    let body = "//! Owns a.\nfn a() { unsafe { b() } }\n";
    assert_eq!(rules_at("crates/daemon/src/a.rs", body), ["unsafe"]);
    assert_eq!(rules_at("crates/holder/src/a.rs", body), [""; 0]);
    assert_eq!(rules("#![deny(unsafe_code)]\n"), [""; 0]);
}

#[test]
fn a_promise_needs_an_issue_number() {
    assert_eq!(rules("// TODO: later\n"), ["promise"]);
    assert_eq!(rules("/// FIXME\nfn a() {}\n"), ["promise"]);
    assert_eq!(rules("// TODO(#12): later\n"), [""; 0]);
    assert_eq!(rules("const TODO: u8 = 1;\n"), [""; 0]);
    assert_eq!(rules_at("deny.toml", "a = 1 # TODO later\n"), ["promise"]);
}

#[test]
fn vendor_words_stay_where_vendor_knowledge_lives() {
    assert_eq!(rules("fn start_claude() {}\n"), ["vendor"]);
    assert_eq!(rules("// like Codex does\n"), ["vendor"]);
    assert_eq!(rules("// a wild goose chase\n"), ["vendor"]);
    assert_eq!(rules("// a mongoose and a raider\n"), [""; 0]);
    for path in ["crates/agents/src/a.rs", "crates/term/tests/fixtures/a.rs"] {
        assert_eq!(rules_at(path, "//! Owns claude.\n"), [""; 0], "{path}");
    }
    assert_eq!(rules_at("docs/agents.md", "claude\n"), [""; 0]);
    assert_eq!(rules_at("CONTRIBUTING.md", "claude\n"), ["vendor"]);
}

#[test]
fn drawers_are_not_names() {
    for path in ["crates/cli/src/util.rs", "crates/cli/tests/common/mod.rs", "crates/cli/src/cli_helpers.rs"]
    {
        assert_eq!(rules_at(path, "//! Owns things.\n"), ["name"], "{path}");
    }
    assert_eq!(rules_at("crates/cli/src/commons.rs", "//! Owns things.\n"), [""; 0]);
}

#[test]
fn the_paste_bracket_is_written_once() {
    let line = format!("//! Owns pastes.\nconst OPEN: &[u8] = b\"\\x1b[{}\";\n", concat!("200", "~"));
    let comment = format!("//! Owns a.\n// the child saw {}\n", concat!("200", "~"));
    let found = |files: &[(&str, &str)]| {
        let findings = patterns::paste_bracket_in_one_place(&tree(files));
        findings.into_iter().map(|finding| finding.path).collect::<Vec<_>>()
    };
    assert_eq!(found(&[("crates/term/src/a.rs", &line), ("crates/cli/src/b.rs", &comment)]), [""; 0]);
    assert_eq!(found(&[("crates/term/src/a.rs", &line), ("crates/term/tests/b.rs", &line)]), [""; 0]);
    assert_eq!(
        found(&[("crates/daemon/src/a.rs", &line), ("crates/term/src/b.rs", &line)]),
        ["crates/term/src/b.rs"]
    );
}

fn lines(count: usize) -> String {
    format!("//! Owns a list.\n{}", "const A: u8 = 1;\n".repeat(count - 1))
}

#[test]
fn a_file_is_warned_about_past_400_lines_and_refused_past_600() {
    let finding = |count: usize| size::long_file(&Source::scan("crates/a/src/a.rs", &lines(count)), &[]);
    assert_eq!(finding(400), None);
    assert!(finding(401).is_some_and(|finding| finding.is_warning));
    assert!(finding(600).is_some_and(|finding| finding.is_warning));
    assert!(finding(601).is_some_and(|finding| !finding.is_warning));
}

#[test]
fn test_modules_do_not_count_towards_the_length_of_a_file() {
    let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(300), "    fn a() {}\n".repeat(700));
    assert_eq!(size::production_lines(&Source::scan("crates/a/src/a.rs", &text)), 300);
    assert_eq!(size::production_lines(&Source::scan("crates/a/src/tests.rs", &text)), 0);
}

#[test]
fn an_exception_may_not_grow_and_must_leave_when_it_is_stale() {
    let path = "crates/a/src/a.rs";
    let source = Source::scan(path, &lines(700));
    assert!(size::long_file(&source, &[(path, 700)]).is_some_and(|finding| finding.is_warning));
    assert!(size::long_file(&source, &[(path, 699)]).is_some_and(|finding| !finding.is_warning));
    let stale =
        |count: usize, recorded| size::stale_exception(&tree(&[(path, &lines(count))]), path, recorded);
    assert_eq!(stale(700, 700), None);
    assert!(stale(700, 720).is_some_and(|finding| finding.advice.contains("lower")));
    assert!(stale(600, 700).is_some_and(|finding| finding.advice.contains("remove")));
    assert!(size::EXCEPTIONS.is_empty(), "the list may only shrink, and it began empty");
}

#[test]
fn a_function_of_81_lines_is_over_the_wall() {
    let function =
        |count: usize| format!("fn a(\n    b: u8,\n) {{\n{}}}\n", "    b();\n\n    // why\n".repeat(count));
    assert_eq!(rules(&function(80)), [""; 0]);
    assert_eq!(rules(&function(81)), ["function-length"]);
    assert_eq!(rules("trait A {\n    fn b();\n}\ntype C = fn(u8) -> u8;\n"), [""; 0]);
}

#[test]
fn an_edge_outside_the_table_is_refused_in_every_spelling() {
    let engine = |manifest: &str| rules_at("crates/engine/Cargo.toml", manifest);
    assert_eq!(engine("[dependencies]\nproto.workspace = true\nserde = \"1\"\n"), [""; 0]);
    assert_eq!(engine("[dependencies]\nterm.workspace = true\n"), ["edge"]);
    assert_eq!(engine("[dependencies]\nx = { package = \"term\", path = \"../term\" }\n"), ["edge"]);
    assert_eq!(engine("[dependencies.holder]\npath = \"../holder\"\n"), ["edge"]);
    assert_eq!(engine("[target.'cfg(unix)'.dependencies]\nstore = { path = \"../store\" }\n"), ["edge"]);
    assert_eq!(engine("[build-dependencies]\nterm.workspace = true\n"), ["edge"]);
    assert_eq!(engine("[dev-dependencies]\nterm.workspace = true\ntestkit.workspace = true\n"), [""; 0]);
    assert_eq!(engine("[dependencies]\ntestkit.workspace = true\n"), ["edge"]);
    assert_eq!(rules_at("crates/testkit/Cargo.toml", "[dependencies]\ndaemon.workspace = true\n"), [""; 0]);
    assert_eq!(rules_at("crates/novelty/Cargo.toml", "[dependencies]\n"), ["edge"]);
}

#[test]
fn a_foreign_crate_without_a_reason_is_found() {
    let manifest =
        ("Cargo.toml", "[workspace.dependencies]\nproto = { path = \"crates/proto\" }\nserde = \"1\"\n");
    let page = |text| ("docs/design/0002-dependencies.md", text);
    assert_eq!(edges::unexplained(&tree(&[manifest])).len(), 1);
    assert_eq!(edges::unexplained(&tree(&[manifest, page("| serde_json | a reason |\nserde\n")])).len(), 1);
    assert_eq!(edges::unexplained(&tree(&[manifest, page("| serde 1 | a reason |\n")])), []);
}

#[test]
fn a_file_no_module_names_is_found() {
    let lost = |files: &[(&str, &str)]| {
        let findings = reach::check(&tree(files));
        findings.into_iter().map(|finding| finding.path).collect::<Vec<_>>()
    };
    let root = ("crates/a/tests/door.rs", "//! Facts.\nmod stage;\n#[path = \"odd/place.rs\"]\nmod odd;\n");
    assert_eq!(
        lost(&[root, ("crates/a/tests/stage/mod.rs", ""), ("crates/a/tests/odd/place.rs", "")]),
        [""; 0]
    );
    assert_eq!(lost(&[root, ("crates/a/tests/stage/lost.rs", "")]), ["crates/a/tests/stage/lost.rs"]);
    let named = ("crates/a/tests/stage/mod.rs", "pub(crate) mod lost;\n");
    assert_eq!(lost(&[root, named, ("crates/a/tests/stage/lost.rs", "")]), [""; 0]);
    let commented = ("crates/a/tests/stage/mod.rs", "// mod lost;\n");
    assert_eq!(
        lost(&[root, commented, ("crates/a/tests/stage/lost.rs", "")]),
        ["crates/a/tests/stage/lost.rs"]
    );
    let library = ("crates/a/src/lib.rs", "//! Owns.\n#[cfg(test)] mod tests;\nmod b;\n");
    let module = ("crates/a/src/b.rs", "//! Owns.\n    mod c;\n");
    assert_eq!(lost(&[library, module, ("crates/a/src/tests.rs", ""), ("crates/a/src/b/c.rs", "")]), [""; 0]);
    assert_eq!(lost(&[library, module, ("crates/a/src/c.rs", "")]), ["crates/a/src/c.rs"]);
    let manifest = ("crates/a/Cargo.toml", "[[test]]\nname = \"b\"\npath = \"tests/deep/b.rs\"\n");
    let declared = ("crates/a/tests/deep/b.rs", "//! Facts.\nmod c;\n");
    assert_eq!(lost(&[manifest, declared, ("crates/a/tests/deep/c.rs", "")]), [""; 0]);
    assert_eq!(lost(&[declared]), ["crates/a/tests/deep/b.rs"]);
}

#[test]
fn the_protocol_page_must_carry_the_hash_of_the_protocol() {
    let proto = ("crates/proto/src/lib.rs", "//! Words.\n");
    let hash = protocol::hash(&tree(&[proto]));
    let page = protocol::blessed("# Protocol\n", &hash);
    assert!(protocol::check(&tree(&[proto])).is_some(), "no page");
    assert!(protocol::check(&tree(&[proto, ("docs/protocol.md", "# Protocol\n")])).is_some(), "no hash");
    assert_eq!(protocol::check(&tree(&[proto, ("docs/protocol.md", &page)])), None);
    let changed = ("crates/proto/src/lib.rs", "//! Words, changed.\n");
    let both = tree(&[changed, ("docs/protocol.md", &page)]);
    assert!(protocol::check(&both).is_some(), "the hash is stale");
    let renewed = protocol::blessed(&page, &protocol::hash(&both));
    assert_eq!(protocol::check(&tree(&[changed, ("docs/protocol.md", &renewed)])), None);
    let with_tests =
        tree(&[changed, ("crates/proto/src/tests.rs", "//! Facts.\n"), ("docs/protocol.md", &renewed)]);
    assert_eq!(protocol::check(&with_tests), None, "tests are not the protocol");
}

#[test]
fn a_finding_is_told_as_path_line_rule_and_advice() {
    let finding = Finding::error("a.rs", 7, "unwrap", "return the error");
    assert_eq!(finding.text(), "a.rs:7: unwrap: return the error");
}

#[test]
fn the_repository_is_tidy() {
    let tree = Tree::read(&step::root()).unwrap();
    assert!(tree.find("xtask/src/tidy/mod.rs").is_some(), "the walk did not find this very crate");
    let errors: Vec<String> =
        check(&tree).iter().filter(|finding| !finding.is_warning).map(Finding::text).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Returns the findings of one rule that concerns the whole tree.
fn findings_of(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
    let found = check(&tree(files));
    found.into_iter().filter(|finding| finding.rule == rule).map(|finding| finding.advice).collect()
}

#[test]
fn a_type_has_a_limited_number_of_methods_over_all_its_files() {
    let methods = |count: usize| -> String {
        let bodies: Vec<String> =
            (0..count).map(|number| format!("    pub fn m{number}(&self) {{}}\n")).collect();
        format!("//! A.\nimpl<T: Fn(u8)> Big<T> {{\n{}}}\n", bodies.concat())
    };
    let half = shape::MAX_METHODS / 2;
    let files = |second: usize| {
        findings_of(
            "methods",
            &[("crates/engine/src/a.rs", &methods(half)), ("crates/engine/src/b.rs", &methods(second))],
        )
    };
    assert!(files(half).iter().all(|advice| !advice.contains("Big")), "{:?}", files(half));
    assert!(files(half + 1).iter().any(|advice| advice.starts_with("engine::Big has 61 methods")));
}

#[test]
fn the_methods_of_a_foreign_trait_are_not_counted_and_those_of_our_own_are() {
    let found = |named: &str| {
        let body = "    fn m(&self) {}\n".repeat(shape::MAX_METHODS + 1);
        let implementation = format!("//! A.\nimpl<T: Fn(u8)> {named}<T> for Big<T> {{\n{body}}}\n");
        let declaration = ("crates/engine/src/b.rs", "//! B.\npub(crate) trait Own {}\n");
        let found = findings_of("methods", &[("crates/engine/src/a.rs", &implementation), declaration]);
        found.iter().any(|advice| advice.starts_with("engine::Big has 61 methods"))
    };
    assert!(found("Own") && found("super::b::Own"));
    assert!(!found("Foreign") && !found("foreign::Handler"));
}

#[test]
fn a_struct_has_a_limited_number_of_fields() {
    let fields = |count: usize| -> String {
        let lines: Vec<String> =
            (0..count).map(|number| format!("    pub(crate) f{number}: u8,\n")).collect();
        format!("//! A.\n/// Big.\npub struct Big {{\n    /// A comment: no field.\n{}}}\n", lines.concat())
    };
    let found = |count: usize| findings_of("fields", &[("crates/engine/src/a.rs", &fields(count))]);
    assert!(found(shape::MAX_FIELDS).iter().all(|advice| !advice.contains("Big")));
    assert!(
        found(shape::MAX_FIELDS + 1).iter().any(|advice| advice.starts_with("engine::Big has 21 fields"))
    );
}

#[test]
fn a_public_name_belongs_to_one_crate() {
    let found = |second: &str| {
        findings_of(
            "shared-name",
            &[("crates/engine/src/a.rs", "//! A.\npub struct Twin;\n"), ("crates/term/src/a.rs", second)],
        )
    };
    let about = |second: &str| found(second).into_iter().filter(|advice| advice.contains("Twin")).count();
    assert_eq!(about("//! A.\npub enum Twin {}\n"), 1);
    assert_eq!(about("//! A.\npub(crate) enum Twin {}\n"), 0, "only what other crates can see counts");
    assert_eq!(about("//! A.\n#[cfg(test)]\nmod tests {\n    pub struct Twin;\n}\n"), 0);
}

/// Returns how many tuples that dodge a limit a shipped file with this body has.
fn tuples_in(body: &str) -> usize {
    findings_of("tuple", &[("crates/engine/src/a.rs", &format!("//! A.\n{body}\n"))]).len()
}

#[test]
fn a_function_takes_no_tuple_apart() {
    assert_eq!(tuples_in("fn a(b: u8, (c, d): (u8, u8)) {}"), 1);
    assert_eq!(tuples_in("fn a(\n    b: u8,\n    (c, d): (u8, u8),\n) {}"), 1);
    assert_eq!(tuples_in("fn a() { let (c, d): (u8, u8) = e(); }"), 0);
    assert_eq!(tuples_in("fn a() { each(|(c, d): (u8, u8)| c + d); }"), 0);
}

#[test]
fn a_tuple_of_three_is_no_parameter_no_field_and_no_alias() {
    assert_eq!(tuples_in("fn a(b: (u8, u8, u8)) {}"), 1);
    assert_eq!(tuples_in("fn a<T: Into<u8>>(\n    b: &mut [(u8, Vec<(u8, u8)>, T)],\n) {}"), 1);
    assert_eq!(
        tuples_in("pub(crate) struct A {\n    #[serde(default, rename)]\n    b: Option<(u8, u8, u8)>,\n}"),
        1
    );
    assert_eq!(tuples_in("enum A {\n    B { c: (u8, u8, u8) },\n    D(u8, u8, u8),\n}"), 1);
    assert_eq!(tuples_in("type A = (u8, u8, u8);"), 1);
    for allowed in [
        "fn a(b: (u8, u8), c: impl Fn(u8, u8, u8) -> (u8, u8, u8)) -> (u8, u8, u8) { (b, c, (1, 2, 3)) }",
        "struct A(u8, u8, u8);\nstruct B;\nstruct C {\n    pub(crate) d: Vec<(u8, u8)>,\n    e: fn(u8, u8, u8),\n}",
        "type A = (u8, u8);\ntrait B {\n    type C;\n    fn d(&self, e: &(dyn F + Send));\n}\nimpl B for A {\n    type C = (u8, u8, u8);\n}",
        "#[cfg(test)]\nmod tests {\n    fn a(b: (u8, u8, u8)) {}\n}",
    ] {
        assert_eq!(tuples_in(allowed), 0, "{allowed}");
    }
}

#[test]
fn a_function_with_many_parameters_has_no_tuple_among_them() {
    assert_eq!(tuples_in("fn a(&self, b: u8, c: u8, d: u8, e: u8, f: Option<(u8, u8)>) {}"), 1);
    assert_eq!(tuples_in("fn a(&self, b: u8, c: u8, d: u8, f: Option<(u8, u8)>) {}"), 0);
}

#[test]
fn only_a_struct_that_refuses_unknown_keys_is_a_document() {
    let found = |attribute: &str| {
        let source = format!("//! A.\n/// A.\n#[derive(Debug)]\n{attribute}/// More.\npub struct Big {{}}\n");
        shape::lenient_documents(&tree(&[("crates/engine/src/a.rs", &source)]), &[("engine::Big", 21)]).len()
    };
    assert_eq!((found("#[serde(deny_unknown_fields)]\n"), found("")), (0, 1));
}

#[test]
fn a_table_of_modules_names_modules_that_are_declared() {
    let found = |rows: &str| {
        let source =
            format!("//! A.\n//!\n//! | file | what |\n//! |---|---|\n{rows}\nmod a;\npub(crate) mod b;\n");
        findings_of("module-table", &[("crates/engine/src/lib.rs", &source)])
    };
    assert_eq!(found("//! | `a`, `b` | two, and `c` |\n"), [""; 0]);
    assert_eq!(
        found("//! | `a`, `log` | one |\n"),
        ["the table names the module `log`, which is not declared here"]
    );
    assert_eq!(found("//! | `settings.toml` | no module |\n"), [""; 0]);
}

#[test]
fn every_code_of_a_test_has_a_row_and_every_row_a_test() {
    let found = |table: &str, test: &str| {
        let source = format!("//! A.\n#[test]\nfn {test}() {{}}\n");
        findings_of("guarantee", &[("docs/guarantees.md", table), ("crates/engine/tests/a.rs", &source)])
    };
    let table = "| code | guarantee | tests |\n|---|---|---|\n| T1 | A. | `t1_*` |\n| M3a | B. | `m3a_*` |\n";
    assert_eq!(found(table, "t1_m3a_both_hold"), [""; 0]);
    assert_eq!(found(table, "t1_m3_the_number_stands_for_all_its_rows"), [""; 0]);
    assert_eq!(found(table, "t1_holds"), ["no test carries the code M3a"]);
    assert_eq!(found(table, "t1_m3a_f9_hold"), ["the code F9 has no row in docs/guarantees.md"]);
    assert_eq!(found(table, "t1_m3a_f32_values"), ["the code F32 has no row in docs/guarantees.md"]);
    let of_page = |test: &str| {
        findings_of("guarantee", &[("docs/guarantees.md", table), ("web/page/tests/a.test.mjs", test)])
    };
    assert_eq!(of_page("test(\"t1 m3a both hold\", () => {});\n"), [""; 0]);
    assert_eq!(
        of_page("  test(`t1 m3 w9 holds`, () => {});\n"),
        ["the code W9 has no row in docs/guarantees.md"]
    );
}

#[test]
fn the_map_names_files_that_exist() {
    let map = "`daemon/src/a.rs` reads\n`screens/b.rs`, `agents/src/detect/` and `qd ps`\n";
    let all = [
        ("docs/architecture.md", map),
        ("crates/daemon/src/a.rs", "//! A file.\n"),
        ("crates/daemon/src/screens/b.rs", "//! A file.\n"),
        ("crates/agents/src/detect/c.rs", "//! A file.\n"),
    ];
    assert_eq!(findings_of("map", &all), [""; 0]);
    assert_eq!(findings_of("map", &all[..2]).len(), 2);
}
