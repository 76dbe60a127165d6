//! Facts about the gate and the grants, without an engine.

use proto::rights::Right;
use proto::{ErrorCode, Kind, Status, Target};

use super::Verb;
use super::grants::Grants;
use crate::input::{Caller, RunKey};
use crate::tests::machine::{add, add_agent, context};

fn target(run: RunKey) -> Target {
    Target(run.process.to_string())
}

#[test]
fn a_grant_opens_one_process_to_one_other_until_it_is_dropped() {
    let (mut grants, mut ctx) = (Grants::default(), context());
    let (a, b, c) = (add_agent(&mut ctx, "a"), add_agent(&mut ctx, "b"), add_agent(&mut ctx, "c"));
    let (own, other) = (Caller::Process(a), Caller::Process(c));
    let refused = grants.find_id(own, &target(b), Verb::Read, &ctx).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotRelated);
    let grant = grants.put_grant(a.process, Right::Read, b.process, &mut ctx);
    assert_eq!(grants.find_id(own, &target(b), Verb::Read, &ctx), Ok(b.process));
    assert!(grants.find_id(own, &target(b), Verb::Drive, &ctx).is_err());
    assert!(grants.find_id(other, &target(b), Verb::Read, &ctx).is_err());
    assert!(grants.drop_grant(grant.grant, &mut ctx));
    assert!(grants.find_id(own, &target(b), Verb::Read, &ctx).is_err());
}

#[test]
fn only_an_agent_is_found_for_a_verb_that_only_agents_understand() {
    let (grants, mut ctx) = (Grants::default(), context());
    let (agent, command) = (add_agent(&mut ctx, "a"), add(&mut ctx, "c", Kind::Command, None));
    assert_eq!(grants.find_agent(Caller::Person, &target(agent), Verb::Drive, &ctx), Ok(agent.process));
    let failure = grants.find_agent(Caller::Person, &target(command), Verb::Drive, &ctx).unwrap_err();
    assert_eq!(failure.code, ErrorCode::WrongKind);
}

#[test]
fn a_run_that_is_over_is_not_admitted() {
    let (grants, mut ctx) = (Grants::default(), context());
    let a = add_agent(&mut ctx, "a");
    assert!(grants.admit(Caller::Process(a), &ctx).is_ok());
    ctx.processes.get_mut(&a.process).unwrap().run.status = Status::Exited;
    let failure = grants.admit(Caller::Process(a), &ctx).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Unauthorized);
    assert_eq!(grants.admit(Caller::Nobody, &ctx).unwrap_err().code, ErrorCode::Unauthorized);
}

#[test]
fn a_drive_grant_ends_acting_for_a_person() {
    let (mut grants, mut ctx) = (Grants::default(), context());
    let (shell, a) = (add(&mut ctx, "shell", Kind::Terminal, None), add_agent(&mut ctx, "a"));
    ctx.processes.get_mut(&shell.process).unwrap().spec.acts_for_person = true;
    assert!(grants.acts_for_person(shell.process, &ctx));
    grants.put_grant(a.process, Right::Drive, shell.process, &mut ctx);
    assert!(!grants.acts_for_person(shell.process, &ctx), "a program could type there in a person's name");
}
