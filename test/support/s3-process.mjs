import { createServer } from 'node:http'
import S3rver from '@20minutes/s3rver'

/* A process that speaks S3 on 127.0.0.1: node s3-process.mjs FOLDER PORT BUCKET. Prints its port. */

const [directory, port, bucket] = process.argv.slice(2)
const options = { directory, silent: true, configureBuckets: [{ name: bucket }] }
const strict = new S3rver(options)
// For a bucket the SDK signs the path with a trailing slash, which this server drops.
const lenient = new S3rver({ ...options, allowMismatchedSignatures: true }).callback()
await strict.configureBuckets()
const handle = strict.callback()

const server = createServer((request, response) => {
  const isBucket = request.url.split('?')[0] === `/${bucket}/`
  return isBucket ? lenient(request, response) : handle(request, response)
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
