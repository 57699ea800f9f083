//! File systems on which a kernel lock does not bind other hosts, or only sometimes.

/// By the number that `statfs` answers with.
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

fn among(table: &'static [(u64, &'static str)], magic: u64) -> Option<&'static str> {
    table.iter().find(|(m, _)| *m == magic).map(|(_, name)| *name)
}

/// The name of a file system that may be shared with other hosts.
pub(super) fn remote(magic: u64) -> Option<&'static str> {
    among(REMOTE, magic)
}

/// The name of any file system, for people.
pub(super) fn name(magic: u64) -> String {
    among(LOCAL, magic).or_else(|| remote(magic)).map_or_else(|| format!("{magic:#x}"), str::to_owned)
}
