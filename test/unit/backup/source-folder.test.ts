import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBackupFolder } from '../../../src/operations/backup/commands/source-folder.ts'
import { Progress } from '../../../src/operations/backup/progress.ts'
import { InputError } from '../../../src/run/errors.ts'

const WRONG: readonly (readonly [from: string, message: RegExp])[] = [
  ['https://example.org/backup', /^"https:\/\/example\.org\/backup": must be s3:\/\/bucket\/prefix/],
  ['S3://Bucket/x', /^"S3:\/\/Bucket\/x": "Bucket" is not a bucket name/],
  ['s3://key:secret@bucket/x', /^"s3:\/\/key:\*\*\*@bucket\/x": must have no credentials/],
  ['s3://bucket/x?endpoint=http://u:secret@h', /is not an endpoint/],
]

for (const [from, message] of WRONG) {
  test(`a place that is no folder and no bucket is refused, without a password: ${from}`, async () => {
    const opened = withBackupFolder(from, new Progress(() => {}), async () => {})
    await assert.rejects(opened, (error: Error) => {
      assert.ok(error instanceof InputError, error.message)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  })
}
