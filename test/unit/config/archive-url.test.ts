import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config/config.ts'

const read = (ARCHIVE_URL: string) => readConfig({ ARCHIVE_URL }).archiveUrl

test('an archive is a bucket, of Amazon or another endpoint, or a folder', () => {
  const amazon = { bucket: 'events', prefix: '', endpoint: undefined, region: undefined }
  assert.deepEqual(read('s3://events'), amazon)
  assert.deepEqual(read('s3://events/raw/ipid/?region=eu-central-1'), {
    ...amazon,
    prefix: 'raw/ipid',
    region: 'eu-central-1',
  })
  assert.deepEqual(read('s3://events/raw?endpoint=http://127.0.0.1:9000&region=eu'), {
    bucket: 'events',
    prefix: 'raw',
    endpoint: 'http://127.0.0.1:9000',
    region: 'eu',
  })
  assert.deepEqual(read('s3://events?endpoint=https%3A%2F%2Fminio.example'), {
    ...amazon,
    endpoint: 'https://minio.example',
  })
  assert.deepEqual(read('file:///var/lib/my%20archive'), { folder: '/var/lib/my archive' })
  assert.equal(read(''), undefined)
})

test('an invalid archive is refused in one line that says why, without secrets', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['minio', /^ARCHIVE_URL "minio": must be s3:\/\/bucket/],
    ['http://127.0.0.1:9000/events', /must be s3:\/\/bucket/],
    ['s3:///prefix', /"" is not a bucket name/],
    ['s3://Big_Bucket', /is not a bucket name/],
    ['s3://events/a b', /is not a prefix/],
    ['s3://events?endpont=http://127.0.0.1', /has the unknown parameter "endpont"/],
    ['s3://events?endpoint=127.0.0.1:9000', /"127.0.0.1:9000" is not an endpoint/],
    ['s3://events?endpoint=http://127.0.0.1/minio', /is not an endpoint/],
    ['s3://events?region=a%20b', /is not a region/],
    ['s3://key:secret@events', /"s3:\/\/key:\*\*\*@events": must have no credentials/],
    ['file://host/folder', /must be s3/],
    ['file:///', /must be s3/],
  ]
  for (const [url, message] of cases) {
    assert.throws(
      () => read(url),
      (error: Error) => {
        assert.equal(error.name, 'InputError')
        assert.match(error.message, message)
        assert.ok(!error.message.includes('\n') && !error.message.includes('secret'))
        return true
      },
    )
  }
})
