//! Which file system a directory is on, and whether a kernel lock there binds the processes of other hosts, or binds
//! them only sometimes.

use rustix::fs::StatFs;
use std::borrow::Cow;
use std::os::fd::BorrowedFd;

/// The file system that a directory is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSystem {
    /// For people.
    pub(crate) name: Cow<'static, str>,
    /// Other hosts may have it mounted.
    pub(crate) is_remote: bool,
}

/// The file system of an open directory.
pub(crate) fn of(directory: BorrowedFd<'_>) -> rustix::io::Result<FileSystem> {
    rustix::fs::fstatfs(directory).map(|found| named(&found))
}

/// The file system of a path. Nothing is opened: closing a file would drop the locks that this process has on it.
#[cfg(feature = "sqlite")]
pub(crate) fn at(path: &std::path::Path) -> rustix::io::Result<FileSystem> {
    rustix::fs::statfs(path).map(|found| named(&found))
}

#[cfg(target_os = "linux")]
fn named(found: &StatFs) -> FileSystem {
    // Numbers with the highest bit set arrive as negative ones where the field has 32 bits.
    FileSystem::numbered(found.f_type as u64 & 0xFFFF_FFFF)
}

#[cfg(not(target_os = "linux"))]
fn named(found: &StatFs) -> FileSystem {
    let name = found.f_fstypename.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8 as char);
    let is_local = u64::from(found.f_flags) & nix::libc::MNT_LOCAL as u64 != 0;
    FileSystem { name: name.collect::<String>().into(), is_remote: !is_local }
}

/// Whether a file is mounted by itself, as far as the system tells.
#[cfg(all(feature = "sqlite", target_os = "linux"))]
pub(crate) fn is_mounted_alone(path: &std::path::Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let mount = |path| {
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        // Since Linux 5.8.
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    };
    let (file, directory) = (mount(path), path.parent().and_then(mount));
    file.zip(directory).is_some_and(|(file, directory)| file != directory)
}

/// Whether a file is mounted by itself, which these systems cannot do.
#[cfg(all(feature = "sqlite", not(target_os = "linux")))]
pub(crate) fn is_mounted_alone(_: &std::path::Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
impl FileSystem {
    /// By the number that `statfs` answers with.
    pub(crate) fn numbered(magic: u64) -> Self {
        let among =
            |table: &[(u64, &'static str)]| table.iter().find(|(m, _)| *m == magic).map(|(_, name)| *name);
        let remote = among(REMOTE);
        let name = remote.or_else(|| among(LOCAL));
        let name = name.map_or_else(|| format!("{magic:#x}").into(), Cow::Borrowed);
        Self { name, is_remote: remote.is_some() }
    }
}

#[cfg(target_os = "linux")]
const REMOTE: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x7375_7245, "Coda"),
    (0x564C, "NCP"),
    (0xAAD7_AAEA, "PanFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0xBEEF_DEAD, "StorNext"),
    (0x786F_4256, "a shared folder of VirtualBox"),
    (0xBACB_ACBC, "a shared folder of VMware"),
    (0x7C7C_6673, "a shared folder of Parallels"),
    // What a program serves may come from anywhere.
    (0x6573_5546, "FUSE"),
];

#[cfg(target_os = "linux")]
const LOCAL: &[(u64, &str)] = &[
    (0xEF53, "ext4"),
    (0x5846_5342, "XFS"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x794C_7630, "overlayfs"),
    (0x2FC1_2FC1, "ZFS"),
    (0xF2F5_2010, "F2FS"),
    (0xCA45_1A4E, "bcachefs"),
];
