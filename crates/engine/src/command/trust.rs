//! `trust`, `distrust`, `trusted`: what agents may start without asking.

use crate::audit::digest_words;
use proto::request::Distrust;
use proto::request::Empty;
use proto::trust::TrustView;
use proto::verb;
use proto::{ErrorCode, Failure, Reply, Role};

use super::grant::permit_project;
use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded, done};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::TrustSubject;
use crate::trust::MAX_TRUSTED;
use crate::trust::TrustStore;

impl Decide for verb::Trust {
    type Order = TrustSubject;
    const ROLE: Role = Role::Admin;
    const NEEDS: Needs = Needs::Person("only people trust");
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, subject: &TrustSubject) -> String {
        digest_words(&subject.digest)
    }

    fn decide(engine: &mut Engine, asker: Asker, subject: TrustSubject) -> CommandResult {
        if subject.digest.is_empty() {
            return Err(Failure::invalid("digest", "there is nothing to trust"));
        }
        permit_project(asker.caller, Some(&subject.project.key), &engine.ctx)?;
        let known = &engine.trust.trusted;
        if known.len() >= MAX_TRUSTED && !known.contains_key(&subject.digest) {
            let message = format!("{MAX_TRUSTED} things are trusted already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message).hint("qd trust rm DIGEST takes one back"));
        }
        let trust = engine.trust.add_trust(subject, &mut engine.inbox, &mut engine.ctx);
        Ok(Some(CommandAnswer::Reply(Reply::Trust(trust))))
    }
}

impl Decide for verb::Distrust {
    type Order = Distrust;
    const ROLE: Role = Role::Admin;
    const NEEDS: Needs = Needs::Person("only people take trust back");
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, request: &Distrust) -> String {
        digest_words(&request.digest)
    }

    fn decide(engine: &mut Engine, _: Asker, request: Distrust) -> CommandResult {
        engine.trust.distrust(&request, &mut engine.ctx)
    }
}

impl Decide for verb::Trusted {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Person("only people may see what is trusted");

    fn decide(engine: &mut Engine, _: Asker, _: Empty) -> CommandResult {
        engine.trust.list(&engine.ctx)
    }
}

impl TrustStore {
    pub(crate) fn distrust(&mut self, request: &Distrust, ctx: &mut Context) -> CommandResult {
        if request.digest.is_empty() {
            return Err(Failure::invalid("digest", "it names nothing"));
        }
        let is_covered = |trust: &&TrustView| ctx.covers_project(&trust.project.key);
        let known = self.trusted.values().filter(is_covered).map(|trust| &trust.digest);
        let mut meant = known.filter(|digest| digest.starts_with(&request.digest));
        let (first, second) = (meant.next().cloned(), meant.next());
        match (first, second) {
            (Some(first), Some(_)) if first != request.digest => {
                Err(Failure::new(ErrorCode::Conflict, "several trusted digests begin like that")
                    .hint("give more of the digest: qd trust lists them"))
            }
            (Some(digest), _) => {
                self.drop_trust(&digest, ctx);
                done()
            }
            (None, _) => Err(Failure::new(ErrorCode::NotFound, "no trusted digest begins like that")
                .hint("qd trust lists them")),
        }
    }

    pub(crate) fn list(&self, ctx: &Context) -> CommandResult {
        let is_covered = |trust: &&TrustView| ctx.covers_project(&trust.project.key);
        let all: Vec<TrustView> = self.trusted.values().filter(is_covered).cloned().collect();
        Ok(Some(CommandAnswer::Reply(Reply::Trusted(all))))
    }
}
