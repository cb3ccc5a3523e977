import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * How long Kafka Streams takes to restore the store of bench/restore.py: prints records and seconds as JSON.
 *
 * <p>Arguments: bootstrap servers, application id, input topic, state directory.
 */
public final class RestoreTimer {
    public static void main(final String[] args) throws Exception {
        final Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, args[3]);
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        config.put("internal.leave.group.on.close", true); // the application itself runs next
        final StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[2], Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"));
        final AtomicLong begun = new AtomicLong();
        final AtomicLong ended = new AtomicLong();
        final AtomicLong records = new AtomicLong();
        final CountDownLatch running = new CountDownLatch(1);
        try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
            streams.setGlobalStateRestoreListener(new StateRestoreListener() {
                @Override
                public void onRestoreStart(
                        final TopicPartition partition, final String store, final long start, final long end) {
                    begun.compareAndSet(0, System.nanoTime());
                }

                @Override
                public void onBatchRestored(
                        final TopicPartition partition, final String store, final long end, final long count) {
                }

                @Override
                public void onRestoreEnd(final TopicPartition partition, final String store, final long count) {
                    records.addAndGet(count);
                    ended.set(System.nanoTime());
                }
            });
            streams.setStateListener((now, before) -> {
                if (now == KafkaStreams.State.RUNNING) {
                    running.countDown();
                }
            });
            streams.start();
            if (!running.await(600, TimeUnit.SECONDS)) {
                throw new IllegalStateException("Kafka Streams is " + streams.state());
            }
        }
        System.out.printf("{\"records\": %d, \"seconds\": %.3f}%n", records.get(), (ended.get() - begun.get()) / 1e9);
    }

    private RestoreTimer() {
    }
}
