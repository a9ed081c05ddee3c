"""A server that speaks S3, by boto3's client."""
