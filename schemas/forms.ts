/*
 * Forms of stored data. A version reads its own form and all earlier ones, and refuses later ones. Raise a number when an earlier
 * version would misread what this one writes. `./ipid version` prints them; the tables have migrations.
 */

/**
 * Form of the keys in Redis. A start stores it, so that earlier versions refuse to start. Raise it whenever `ENVELOPE_FORM` rises.
 * 1: version 0.1.0, which stored no number. 2: states of bots in blocks. 3: chunks of batch jobs are
 * compressed.
 */
export const REDIS_FORM = 3

/** Form of the blocks of events in streams. Each block has the number; those of version 0.1.0 have none. 2: states of bots. */
export const ENVELOPE_FORM = 2

/** Form of the parts of the archive. An index without a number is of form 1. */
export const ARCHIVE_FORM = 1

/** Form of backups. A restore refuses any other. */
export const BACKUP_FORMAT = 1
