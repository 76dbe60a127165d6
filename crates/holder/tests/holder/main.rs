//! Holders as real processes with real PTYs. One binary, so that it is linked once; one file per family of
//! tests. The modules are marked as tests so that the lints treat them as such.

#[cfg(test)]
mod adopt;
#[cfg(test)]
mod exits;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod forkserver;
#[cfg(test)]
mod input;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod overrun;
#[cfg(test)]
mod recycled;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod spawn;
