"""The variables that all parts of EasyLoop read; a test keeps the list equal to what their settings classes say."""

SETTING_NAMES = frozenset(
    {
        "EASYLOOP_ADMIN_KEY",
        "EASYLOOP_API_KEY",
        "EASYLOOP_BACKBONE_DIR",
        "EASYLOOP_DATA_DIR",
        "EASYLOOP_FAILPOINTS",
        "EASYLOOP_GATEWAY_PORT",
        "EASYLOOP_HEALTH_PORT",
        "EASYLOOP_INSTANCE",
        "EASYLOOP_KAFKA_BOOTSTRAP_SERVERS",
        "EASYLOOP_LOCAL_BUS",
        "EASYLOOP_LOG_LEVEL",
        "EASYLOOP_MONGO_URI",
        "EASYLOOP_OTLP_ENDPOINT",
        "EASYLOOP_RAY_ADDRESS",
        "EASYLOOP_S3_ACCESS_KEY",
        "EASYLOOP_S3_BUCKET",
        "EASYLOOP_S3_ENDPOINT",
        "EASYLOOP_S3_SECRET_KEY",
        "EASYLOOP_S3_SECURE",
        "EASYLOOP_URL",
    }
)
